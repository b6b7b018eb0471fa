extension FilePersistence {
  /// Returns the key in the file `secret.key` of the directory; makes it where there is none.
  ///
  /// The file is for its owner alone. No eviction and no removal takes it, since another process
  /// may have its key in memory. A file of another length is no key, and is replaced.
  ///
  /// - Returns: `nil` where the file can be neither read nor made; ``Persistence/secretKey()``
  ///   says what follows.
  public func secretKey() -> SecretKey? {
    do {
      let path = "\(try names.directory())/\(FileNames.secretKey)"
      return try readSecretKey(path) ?? makeSecretKey(path)
    } catch {
      return nil
    }
  }

  /// `nil` where there is no file, or one that is no key.
  private func readSecretKey(_ path: String) throws(FilePersistenceError) -> SecretKey? {
    guard let file = try system.open(path) else { return nil }
    return SecretKey(bytes: try file.read(SecretKey.byteCount + 1))
  }

  /// Two processes at once agree: a link replaces nothing, and each takes the key that is there
  /// afterwards. Two that replace a damaged file at once may differ, until both have started again.
  private func makeSecretKey(_ path: String) throws(FilePersistenceError) -> SecretKey? {
    let directory = try names.directory()
    try system.makeDirectory(directory, synchronizes: synchronizes)
    let temporary = "\(directory)/\(FileNames.temporary())"
    defer { _ = try? system.remove(temporary) }
    try write(SecretKey(), to: temporary)
    try system.link(temporary, to: path)
    var key = try readSecretKey(path)
    if key == nil {
      try system.rename(temporary, to: path)
      key = try readSecretKey(path)
    }
    if synchronizes { try system.synchronizeDirectory(directory) }
    return key
  }

  /// Synchronises always: after a power cut, a file that is there is whole.
  private func write(_ key: SecretKey, to path: String) throws(FilePersistenceError) {
    var file = try system.create(path)
    try Self.write(key.bytes, to: file)
    try file.synchronize()
    try file.close()
  }
}
