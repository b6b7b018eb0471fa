public import Foundation
import Synchronization

/// One record per file, in a directory that several processes may share.
///
/// ```swift
/// let persistence = FilePersistence(directory: .temporaryDirectory.appending(path: "api"))
/// ```
///
/// A record is written to a file of its own and then renamed over the old one, so a reader sees the old or the new
/// record, whole. A record that cannot be read throws ``RecordError`` from `load`, harms no other, and stays until
/// something is saved under its key. Files and directories that it makes are for their owner alone. It removes only
/// files that it named; with the directory deleted it is empty, and the next save makes the directory again.
///
/// Opening does nothing. Failed calls of the system throw ``FilePersistenceError``. Cancellation stops `entries` alone:
/// the others are short. No method works on the caller's executor.
public final class FilePersistence: Persistence {
  /// The events that an acknowledged save survives.
  public enum Synchronization: Sendable, Hashable {
    /// The end of the process at any instruction. A power cut may take the latest saves (a record that it left half
    /// written is seen and is a miss).
    case normal
    /// A power cut too: file and directory are synchronised before a save or a removal returns, which takes
    /// milliseconds. Where only the directory could not be synchronised, the save throws and yet the new record is in
    /// its place. To put the old one back would promise no more: nothing says which of the two the disk holds, and the
    /// way back would need the synchronisation that has just failed.
    case full
  }

  let names: FileNames
  let system: FileSystem
  let synchronizes: Bool
  private let limit: FileLimit
  private let touchInterval: Int

  /// - Parameters:
  ///   - directory: a file URL. It is made, with those above it, by the first save, or by the
  ///     first URL with a secret.
  ///   - limit: bytes that all records may take; the least recently used are removed first, down to seven eighths. A
  ///     record's use is noted once a minute at most. With one process, the records being saved may exceed it for the
  ///     moment; each further process adds a sixteenth at most. A record that alone is larger is not saved. Temporary
  ///     files that a crash left are removed along with it, at the first save. Default: 256 MiB.
  ///   - countLimit: the same for the count of records. Default: 50,000.
  ///   - synchronization: what an acknowledged save survives. Default: ``Synchronization/normal``.
  public convenience init(
    directory: URL, limit: Int = 256 << 20, countLimit: Int = 50_000, synchronization: Synchronization = .normal
  ) {
    self.init(
      directory: directory, limit: limit, countLimit: countLimit, synchronization: synchronization,
      system: FileSystem(), touchInterval: 60)
  }

  /// - Parameter touchInterval: in seconds.
  init(
    directory: URL, limit: Int = 256 << 20, countLimit: Int = 50_000, synchronization: Synchronization = .normal,
    system: FileSystem, touchInterval: Int = 60
  ) {
    names = FileNames(directory)
    self.system = system
    synchronizes = synchronization == .full
    self.limit = FileLimit(bytes: limit, count: countLimit)
    self.touchInterval = touchInterval
  }

  /// - Throws: ``RecordError``, ``FilePersistenceError``.
  @concurrent public func load(_ key: RecordKey) async throws -> Record? {
    guard let open = try system.open(names.path(of: key)) else { return nil }
    let file = try RecordFile(open, reading: 4 << 10)
    let record = try file.record()
    guard record.belongs(to: key) else { return nil }
    file.touch(unlessWithin: touchInterval)
    return record
  }

  /// - Throws: ``RecordError/wrongKey``, ``FilePersistenceError``.
  @concurrent public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.belongs(to: key) else { throw RecordError.wrongKey }
    let head = RecordCodec.encodeHead(of: record)
    let size = head.count + record.body.count
    let path = try names.path(of: key)
    guard size <= limit.bytes else {
      throw FilePersistenceError(operation: .write, path: path, code: FileSystem.isTooLarge)
    }
    try replace(path, head: head, body: record.body)
    limit.saved(size, at: path, names, system)
  }

  @concurrent public func remove(_ key: RecordKey) async throws {
    let path = try names.path(of: key)
    if try system.remove(path) { try synchronize(FileNames.folder(ofRecord: path)) }
  }

  /// Removes what it can before it throws the first failure.
  @concurrent public func removeAll(in scope: Scope?) async throws {
    let folders = try scope.map { [try names.folder(of: $0)] } ?? names.folders(system)
    var failure: FilePersistenceError?
    for folder in folders {
      do throws(FilePersistenceError) {
        try removeBuckets(in: folder)
      } catch {
        failure = failure ?? error
      }
    }
    limit.forget()
    if let failure { throw failure }
    try synchronize(names.directory())
  }

  /// Reads heads alone, of one URL only its records': the others are told apart by their names. A
  /// record that cannot be read is left out.
  ///
  /// - Throws: ``FilePersistenceError`` where a directory cannot be listed; `CancellationError`.
  @concurrent public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] {
    let prefix = url.map(FileNames.prefix) ?? ""
    var entries: [RecordEntry] = []
    for folder in try names.buckets(of: scope, url: url, system) {
      for name in try system.list(folder, prefix: prefix) where FileNames.isRecord(name) {
        try Task.checkCancellation()
        guard let entry = try? entry(folder, name), url.map(entry.key.isOf) ?? true else { continue }
        entries.append(entry)
      }
    }
    return entries
  }
}

extension FilePersistence {
  /// Writes a temporary file and renames it. It begins again where the directory, or the temporary file, was removed
  /// meanwhile: another process may be clearing the store.
  private func replace(_ path: String, head: [UInt8], body: Data) throws(FilePersistenceError) {
    let folder = FileNames.folder(ofRecord: path)
    var attempts = 0
    while true {
      let temporary = "\(folder)/\(FileNames.temporary())"
      do {
        try write(temporary, head: head, body: body)
        try limit.excludingEviction { () throws(FilePersistenceError) in try system.rename(temporary, to: path) }
        return try synchronize(folder)
      } catch {
        _ = try? system.remove(temporary)
        attempts += 1
        guard error.code == FileSystem.isAbsent, attempts < 8 else { throw error }
        try system.makeDirectory(folder, synchronizes: synchronizes)
      }
    }
  }

  private func write(_ path: String, head: [UInt8], body: Data) throws(FilePersistenceError) {
    var file = try system.create(path)
    try Self.write(head, to: file)
    try Self.write(body, to: file)
    // The system's own times are too coarse to tell which of two saves was the later.
    try? file.touch(.now)
    if synchronizes { try file.synchronize() }
    try file.close()
  }

  static func write(_ bytes: some ContiguousBytes, to file: borrowing OpenFile) throws(FilePersistenceError) {
    var result: Result<Void, FilePersistenceError> = .success(())
    bytes.withUnsafeBytes { buffer in
      do throws(FilePersistenceError) {
        try file.write(buffer)
      } catch {
        result = .failure(error)
      }
    }
    try result.get()
  }

  private func synchronize(_ directory: String) throws(FilePersistenceError) {
    if synchronizes { try system.synchronizeDirectory(directory) }
  }

  private func removeBuckets(in folder: String) throws(FilePersistenceError) {
    var failure: FilePersistenceError?
    for bucket in try FileNames.buckets(in: folder, system) {
      do throws(FilePersistenceError) {
        try removeRecords(in: bucket)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try system.removeDirectory(folder)
  }

  private func removeRecords(in folder: String) throws(FilePersistenceError) {
    var failure: FilePersistenceError?
    for name in try system.list(folder) where FileNames.isRecord(name) || FileNames.isTemporary(name) {
      do throws(FilePersistenceError) {
        try system.remove("\(folder)/\(name)")
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try synchronize(folder)
    try system.removeDirectory(folder)
  }

  private func entry(_ folder: String, _ name: String) throws -> RecordEntry? {
    guard let open = try system.open("\(folder)/\(name)") else { return nil }
    let file = try RecordFile(open, reading: 4 << 10)
    guard let key = RecordKey(identity: file.head.identity), try names.path(of: key) == "\(folder)/\(name)" else {
      return nil
    }
    return RecordEntry(
      key: key, size: file.status.size, fetchedAt: file.head.receivedAt,
      lastUsedAt: file.status.modified.date,
      freshUntil: file.head.freshUntil)
  }
}

extension FilePersistence {
  /// Reads every record whole; gives those that cannot be read, each with its file. Nothing is changed. A record that goes
  /// meanwhile is none.
  ///
  /// - Throws: ``FilePersistenceError`` where a directory cannot be listed; `CancellationError`.
  @concurrent public func verify() async throws -> [RecordDefect] {
    var defects: [RecordDefect] = []
    for folder in try names.buckets(of: nil, system) {
      for name in try system.list(folder).sorted() where FileNames.isRecord(name) {
        try Task.checkCancellation()
        let path = "\(folder)/\(name)"
        do {
          guard let file = try system.open(path) else { continue }
          let record = try RecordFile(file, reading: 64 << 10).record()
          guard let key = RecordKey(identity: record.head.identity), try names.path(of: key) == path else {
            throw RecordError.corrupt("it belongs to another key than its name says")
          }
        } catch {
          defects.append(RecordDefect(place: path, reason: "\(error)"))
        }
      }
    }
    return defects
  }
}

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
