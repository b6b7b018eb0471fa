public import Foundation
public import HTTPCaching

/// Keys in files that only their owner may read, for systems without a Keychain.
///
/// ```swift
/// let keys = FileSealingKeys(directory: URL(filePath: "/etc/news/keys"))
/// ```
///
/// Keep the directory apart from the sealed data, and back it up. A file is created with a random
/// key when a key is first needed. A file of another length or with other permissions than 0600 is
/// an error, and is never replaced. Several processes may share the directory.
public final class FileSealingKeys: RotatingSealingKeys {
  private let directory: URL
  private let system = FileSystem()
  private static let storeFile = "store.keys"
  private static let temporary = ".temporary"

  /// Creates a provider. Nothing is read or written yet.
  ///
  /// - Parameter directory: A file URL. The first key creates the directory and its parents.
  public init(directory: URL) { self.directory = directory }

  /// Returns the key of the store, and creates it if there is no file.
  ///
  /// - Throws: ``SealingError``, `FilePersistence.Failure`.
  public func storeKey() throws -> SealingKey { try keys(in: Self.storeFile).current }

  /// Returns the keys of a scope, and creates the first if there is no file.
  ///
  /// - Throws: ``SealingError``, `FilePersistence.Failure`.
  public func keys(of scope: Scope) throws -> SealingKeys { try keys(in: Self.file(of: scope)) }

  /// Adds a random key, which is the current one from now on.
  ///
  /// - Throws: ``SealingError``, `FilePersistence.Failure`, also if another process is changing the
  ///   keys.
  @discardableResult public func addKey(of scope: Scope) throws -> SealingKey {
    let key = SealingKey()
    try change(scope) { [key] + $0 }
    return key
  }

  /// Removes every key of `scope` but the current one.
  ///
  /// - Throws: ``SealingError/otherCurrentKey(_:scope:)`` if that is not `key`; other
  ///   ``SealingError``, `FilePersistence.Failure`.
  public func removeOlderKeys(of scope: Scope, keeping key: SealingKey.ID) throws {
    try change(scope) { keys in
      guard keys[0].id == key else { throw SealingError.otherCurrentKey(keys[0].id, scope: scope) }
      return [keys[0]]
    }
  }

  /// Removes all keys of `scope`, also from the files of changes that were interrupted.
  ///
  /// - Throws: `FilePersistence.Failure`, also if another process is changing the keys.
  public func removeKeys(of scope: Scope) throws {
    let root = try root
    guard FileManager.default.fileExists(atPath: root) else { return }
    try locked {
      try system.remove("\(root)/\(Self.file(of: scope))")
      try system.synchronizeDirectory(root)
    }
  }

  private var root: String {
    get throws {
      guard let path = FileSystem.path(of: directory) else {
        throw FilePersistence.Failure(operation: .open, path: "the directory of keys", code: FileSystem.isInvalid)
      }
      return path
    }
  }

  private static func file(of scope: Scope) -> String { "\(SHA256Digest.hex(Array(scope.name.utf8))).keys" }
}

extension FileSealingKeys {
  private func keys(in name: String) throws -> SealingKeys {
    let path = "\(try root)/\(name)"
    if let keys = try read(path) { return SealingKeys(current: keys[0], older: Array(keys.dropFirst())) }
    try system.makeDirectory(try root, synchronizes: true)
    // Of two processes at once, one creates the file, and both read it. A change by another process
    // may remove the temporary file before it is linked.
    for _ in 0..<8 {
      let temporary = try write([SealingKey()])
      defer { _ = try? system.remove(temporary) }
      try system.link(temporary, to: path)
      try system.synchronizeDirectory(try root)
      if let keys = try read(path) { return SealingKeys(current: keys[0], older: Array(keys.dropFirst())) }
    }
    throw SealingError.invalidKeys(path)
  }

  /// Returns the keys, at least one; `nil` if there is no file.
  private func read(_ path: String) throws -> [SealingKey]? {
    guard let file = try system.open(path) else { return nil }
    guard try file.status().permissions & 0o077 == 0 else { throw SealingError.exposedKeys(path: path) }
    let text = String(decoding: try file.read(1 << 16, at: 0), as: UTF8.self)
    let keys = text.split(separator: "\n").map { SealingKey(base64: String($0)) }
    // A cut line must not take the older keys with it unnoticed.
    guard !keys.isEmpty, text.hasSuffix("\n"), !keys.contains(nil) else { throw SealingError.invalidKeys(path) }
    return keys.compactMap(\.self)
  }

  /// Writes a temporary file, and returns its path.
  private func write(_ keys: [SealingKey]) throws -> String {
    let path = "\(try root)/.\(UUID().uuidString)\(Self.temporary)"
    var file = try system.create(path)
    let text = keys.map { "\($0.base64)\n" }.joined()
    try Array(text.utf8).withUnsafeBytes { try file.write($0) }
    try file.synchronize()
    try file.close()
    return path
  }

  private func change(_ scope: Scope, _ body: ([SealingKey]) throws -> [SealingKey]) throws {
    _ = try keys(of: scope)
    try locked {
      let path = "\(try root)/\(Self.file(of: scope))"
      guard let keys = try read(path) else { throw SealingError.invalidKeys(path) }
      let temporary = try write(try body(keys))
      try system.rename(temporary, to: path)
      try system.synchronizeDirectory(try root)
    }
  }

  private func locked(_ body: () throws -> Void) throws {
    let path = "\(try root)/lock"
    let lock = try openLock(path)
    guard try lock.lock() else {
      throw FilePersistence.Failure(operation: .lock, path: path, code: FileSystem.exists)
    }
    try run(body, while: lock)
  }

  private func run(_ body: () throws -> Void, while lock: borrowing OpenFile) throws {
    // A change that was interrupted has left all its keys.
    for name in try system.list(try root) where name.hasSuffix(Self.temporary) {
      try system.remove("\(try root)/\(name)")
    }
    try body()
  }

  private func openLock(_ path: String) throws -> OpenFile {
    if let file = try system.open(path, writes: true) { return file }
    do throws(FilePersistence.Failure) { return try system.create(path, reads: true) } catch {
      // Another process was first.
      guard error.code == FileSystem.exists, let file = try system.open(path, writes: true) else { throw error }
      return file
    }
  }
}
