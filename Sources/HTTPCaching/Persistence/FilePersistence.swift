public import Foundation
import Synchronization

/// A store with one file per record, in a directory that several processes may share.
///
/// ```swift
/// let persistence = FilePersistence(directory: .temporaryDirectory.appending(path: "api"))
/// ```
///
/// A save writes a new file and renames it over the old one, so a reader sees the old or the new
/// record, whole. For a record that cannot be read, ``load(_:)`` throws ``Record/Failure``. Such a
/// record affects no other, and stays until something is saved under its key. Only the owner may
/// read and write the files and directories.
///
/// The store removes only files that it named. If the directory is deleted, the store is empty, and
/// the next save creates the directory again.
///
/// Creating the object does no I/O. Failed system calls throw ``FilePersistence/Failure``.
/// Cancellation stops only ``entries(in:url:)`` and ``verify()``; the other methods are short. The
/// asynchronous methods never run on the caller's executor.
public final class FilePersistence: Persistence {
  /// The events that a completed save survives.
  public enum Synchronization: Sendable, Hashable {
    /// The end of the process at any instruction. A power cut may lose the latest saves. A record
    /// that it left half-written is detected and is a miss.
    case normal
    /// A power cut as well. File and directory are synchronized before a save or a removal returns,
    /// which takes milliseconds.
    ///
    /// If only the directory cannot be synchronized, the save throws although the new record is in
    /// place. Restoring the old one would promise no more. Nothing shows which of the two the disk
    /// holds, and the restored one would need the synchronization that just failed.
    case full
  }

  let names: FileNames
  let system: FileSystem
  let synchronizes: Bool
  private let limit: FileLimit
  private let touchInterval: Int

  /// Creates a store in a directory.
  ///
  /// ```swift
  /// let persistence = FilePersistence(
  ///   directory: directory, limit: 50 << 20, countLimit: 10_000, synchronization: .full)
  /// ```
  ///
  /// - Parameters:
  ///   - directory: A file URL. The first save creates the directory and its parents, and so does
  ///     the first URL with a secret.
  ///   - limit: The bytes that all records may take. Above the limit, the least recently used
  ///     records are removed, down to seven eighths of it. A record's use is noted at most once a
  ///     minute. In one process, only records being saved can exceed the limit; each further
  ///     process adds at most a sixteenth. A record that is larger than the limit is not saved. The
  ///     first save also removes temporary files that a crash left. Default: 256 MiB.
  ///   - countLimit: The number of records, limited in the same way. Default: 50,000.
  ///   - synchronization: The events that a completed save survives. Default:
  ///     ``Synchronization/normal``.
  public convenience init(
    directory: URL, limit: Int = 256 << 20, countLimit: Int = 50_000, synchronization: Synchronization = .normal
  ) {
    self.init(
      directory: directory, limit: limit, countLimit: countLimit, synchronization: synchronization,
      system: FileSystem(), touchInterval: 60)
  }

  /// - Parameter touchInterval: The seconds between two notes of a record's use.
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

  /// Returns the record that was last saved under `key`, or `nil` if nothing is stored.
  ///
  /// - Throws: ``Record/Failure`` for a record that cannot be read; ``FilePersistence/Failure``.
  @concurrent public func load(_ key: RecordKey) async throws -> Record? {
    guard let open = try system.open(names.path(of: key)) else { return nil }
    let file = try RecordFile(open, reading: 4 << 10)
    let record = try file.record()
    guard record.belongs(to: key) else { return nil }
    file.touch(unlessWithin: touchInterval)
    return record
  }

  /// Saves `record` in place of an earlier one, and evicts others above the limit.
  ///
  /// - Throws: ``Record/Failure/wrongKey``; ``FilePersistence/Failure``, also for a record larger
  ///   than the limit.
  @concurrent public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.belongs(to: key) else { throw Record.Failure.wrongKey }
    let head = RecordCodec.encodeHead(of: record)
    let size = head.count + record.body.count
    let path = try names.path(of: key)
    guard size <= limit.bytes else {
      throw FilePersistence.Failure(operation: .write, path: path, code: FileSystem.isTooLarge)
    }
    try replace(path, head: head, body: record.body)
    limit.saved(size, at: path, names, system)
  }

  /// Removes the record of `key`. Does nothing if nothing is stored.
  ///
  /// - Throws: ``FilePersistence/Failure``.
  @concurrent public func remove(_ key: RecordKey) async throws {
    let path = try names.path(of: key)
    if try system.remove(path) { try synchronize(FileNames.folder(ofRecord: path)) }
  }

  /// Removes every record of `scope`, or of every scope if `scope` is `nil`.
  ///
  /// - Throws: The first ``FilePersistence/Failure``, after removing everything that can be
  ///   removed.
  @concurrent public func removeAll(in scope: Scope?) async throws {
    let folders = try scope.map { [try names.folder(of: $0)] } ?? names.folders(system)
    var failure: FilePersistence.Failure?
    for folder in folders {
      do throws(FilePersistence.Failure) {
        try removeBuckets(in: folder)
      } catch {
        failure = failure ?? error
      }
    }
    limit.forget()
    if let failure { throw failure }
    try synchronize(names.directory())
  }

  /// Returns the stored records, except records that cannot be read.
  ///
  /// The method reads only heads. For one URL, it opens only records whose names match.
  ///
  /// - Throws: ``FilePersistence/Failure`` if a directory cannot be listed; `CancellationError`.
  @concurrent public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    let prefix = url.map(FileNames.prefix) ?? ""
    var entries: [Record.Entry] = []
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
  /// Writes a temporary file and renames it. Starts again if the directory or the temporary file
  /// was removed meanwhile, because another process may be clearing the store.
  private func replace(_ path: String, head: [UInt8], body: Data) throws(FilePersistence.Failure) {
    let folder = FileNames.folder(ofRecord: path)
    var attempts = 0
    while true {
      let temporary = "\(folder)/\(FileNames.temporary())"
      do {
        try write(temporary, head: head, body: body)
        try limit.excludingEviction { () throws(FilePersistence.Failure) in try system.rename(temporary, to: path) }
        return try synchronize(folder)
      } catch {
        _ = try? system.remove(temporary)
        attempts += 1
        guard error.code == FileSystem.isAbsent, attempts < 8 else { throw error }
        try system.makeDirectory(folder, synchronizes: synchronizes)
      }
    }
  }

  private func write(_ path: String, head: [UInt8], body: Data) throws(FilePersistence.Failure) {
    var file = try system.create(path)
    try Self.write(head, to: file)
    try Self.write(body, to: file)
    // The system's own times are too coarse to order two saves.
    try? file.touch(.now)
    if synchronizes { try file.synchronize() }
    try file.close()
  }

  static func write(_ bytes: some ContiguousBytes, to file: borrowing OpenFile) throws(FilePersistence.Failure) {
    var result: Result<Void, FilePersistence.Failure> = .success(())
    bytes.withUnsafeBytes { buffer in
      do throws(FilePersistence.Failure) {
        try file.write(buffer)
      } catch {
        result = .failure(error)
      }
    }
    try result.get()
  }

  private func synchronize(_ directory: String) throws(FilePersistence.Failure) {
    if synchronizes { try system.synchronizeDirectory(directory) }
  }

  private func removeBuckets(in folder: String) throws(FilePersistence.Failure) {
    var failure: FilePersistence.Failure?
    for bucket in try FileNames.buckets(in: folder, system) {
      do throws(FilePersistence.Failure) {
        try removeRecords(in: bucket)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try system.removeDirectory(folder)
  }

  private func removeRecords(in folder: String) throws(FilePersistence.Failure) {
    var failure: FilePersistence.Failure?
    for name in try system.list(folder) where FileNames.isRecord(name) || FileNames.isTemporary(name) {
      do throws(FilePersistence.Failure) {
        try system.remove("\(folder)/\(name)")
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try synchronize(folder)
    try system.removeDirectory(folder)
  }

  private func entry(_ folder: String, _ name: String) throws -> Record.Entry? {
    guard let open = try system.open("\(folder)/\(name)") else { return nil }
    let file = try RecordFile(open, reading: 4 << 10)
    guard let key = RecordKey(identity: file.head.identity), try names.path(of: key) == "\(folder)/\(name)" else {
      return nil
    }
    return Record.Entry(
      key: key, size: file.status.size, fetchedAt: file.head.receivedAt,
      lastUsedAt: file.status.modified.date,
      freshUntil: file.head.freshUntil, groups: file.head.groups)
  }
}

extension FilePersistence {
  /// Reads every record whole and returns the unreadable ones, each with its file. Changes nothing.
  /// A record that is removed meanwhile is skipped.
  ///
  /// ```swift
  /// for defect in try await persistence.verify() { print(defect) }
  /// ```
  ///
  /// - Throws: ``FilePersistence/Failure`` if a directory cannot be listed; `CancellationError`.
  @concurrent public func verify() async throws -> [Record.Defect] {
    var defects: [Record.Defect] = []
    for folder in try names.buckets(of: nil, system) {
      for name in try system.list(folder).sorted() where FileNames.isRecord(name) {
        try Task.checkCancellation()
        let path = "\(folder)/\(name)"
        do {
          guard let file = try system.open(path) else { continue }
          let record = try RecordFile(file, reading: 64 << 10).record()
          guard let key = RecordKey(identity: record.head.identity), try names.path(of: key) == path else {
            throw Record.Failure.corrupt("its key does not match the file's name")
          }
        } catch {
          defects.append(Record.Defect(place: path, reason: "\(error)"))
        }
      }
    }
    return defects
  }
}

extension FilePersistence {
  /// Returns the key in the file `secret.key` of the directory, and creates the file if it does not
  /// exist.
  ///
  /// Only the owner may read the file. Neither eviction nor a removal deletes it, because another
  /// process may have the key in memory. A file of another length is not a key, and is replaced.
  ///
  /// - Returns: The key, or `nil` if the file can be neither read nor created. For the effect, see
  ///   ``Persistence/secretKey()``.
  public func secretKey() -> RecordKey.SecretKey? {
    do {
      let path = "\(try names.directory())/\(FileNames.secretKey)"
      return try readSecretKey(path) ?? makeSecretKey(path)
    } catch {
      return nil
    }
  }

  /// Returns the stored key, or `nil` if the file is missing or has another length.
  private func readSecretKey(_ path: String) throws(FilePersistence.Failure) -> RecordKey.SecretKey? {
    guard let file = try system.open(path) else { return nil }
    return RecordKey.SecretKey(bytes: try file.read(RecordKey.SecretKey.byteCount + 1))
  }

  /// Creates the file of the key. Two processes at once agree on one key: a link replaces nothing,
  /// and both read the file afterwards. If both replace a damaged file at once, their keys may
  /// differ until both have restarted.
  private func makeSecretKey(_ path: String) throws(FilePersistence.Failure) -> RecordKey.SecretKey? {
    let directory = try names.directory()
    try system.makeDirectory(directory, synchronizes: synchronizes)
    let temporary = "\(directory)/\(FileNames.temporary())"
    defer { _ = try? system.remove(temporary) }
    try write(RecordKey.SecretKey(), to: temporary)
    try system.link(temporary, to: path)
    var key = try readSecretKey(path)
    if key == nil {
      try system.rename(temporary, to: path)
      key = try readSecretKey(path)
    }
    if synchronizes { try system.synchronizeDirectory(directory) }
    return key
  }

  /// Writes a key, always synchronized. So a file that survives a power cut is whole.
  private func write(_ key: RecordKey.SecretKey, to path: String) throws(FilePersistence.Failure) {
    var file = try system.create(path)
    try Self.write(key.bytes, to: file)
    try file.synchronize()
    try file.close()
  }
}
