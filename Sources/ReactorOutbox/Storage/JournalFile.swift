import Foundation
import HTTPCaching

/// The journal of one scope, as of this process's last read. The caller holds the directory's lock.
///
/// A commit appends a frame, and synchronizes the file and then the directory, in case another
/// process has just replaced the file. A commit that fails is cut off again.
struct JournalFile {
  private let directory: OutboxDirectory
  private let scope: Scope
  private let path: String
  private let now: @Sendable () -> Date
  /// `nil` if there is no journal.
  private var scan: JournalScan?
  /// A Boolean value that indicates whether a failed commit could not be cut off. A later frame
  /// might be lost with it, so the journal is rewritten first.
  private var isSuspect = false
  /// A Boolean value that indicates whether the latest reading has found the journal that was read
  /// or written before.
  private(set) var isContinued = false
  /// The number of bytes up to which a journal is not compacted.
  static let compactionSize = 64 << 10
  /// About the largest number of bytes in a frame of a new journal.
  private static let frameSize = 1 << 20

  private var system: FileSystem { directory.system }

  init(_ directory: OutboxDirectory, of scope: Scope, now: @escaping @Sendable () -> Date) {
    self.directory = directory
    self.scope = scope
    self.now = now
    path = directory.journal(of: scope)
  }

  var table: OutboxTable { scan?.table ?? OutboxTable() }
  /// The generation of the journal; `nil` before a scan.
  var generation: UUID? { scan?.generation }

  /// Reads everything that other processes have written. A damaged journal is set aside, and
  /// replaced by a journal with every readable entry.
  ///
  /// - Throws: ``OutboxStorageError/newerFormat(path:)``, `FilePersistence.Failure`.
  mutating func load() throws {
    isContinued = false
    guard let file = try system.open(path) else {
      scan = nil
      return
    }
    let size = try file.status().size
    if try isRead(on: file, to: size) {
      isContinued = true
      return
    }
    let bytes = try file.read(size, at: 0)
    do throws(JournalScan.NewerFormat) {
      let read = try JournalScan(bytes, of: scope)
      scan = read
    } catch {
      scan = nil
      throw OutboxStorageError.newerFormat(path: path)
    }
    if scan?.damage.isEmpty == false { try write(table, settingAside: bytes) }
  }

  /// Reads the bytes that were appended since the last read.
  ///
  /// - Returns: `false` if the file was replaced, or if the bytes do not continue it.
  private mutating func isRead(on file: borrowing OpenFile, to size: Int) throws(FilePersistence.Failure) -> Bool {
    guard !isSuspect, var next = scan, let generation = next.generation, size >= next.end else { return false }
    let header = Journal.header(generation: generation, scope: scope)
    guard try file.read(header.count, at: 0) == header else { return false }
    next.read(next: try file.read(size - next.end, at: next.end))
    guard next.damage.isEmpty else { return false }
    scan = next
    return true
  }

  /// Applies steps. When the method returns, they survive a power cut. When it throws, either none
  /// or all of them are in the journal; all are only if it could not be cut off either.
  mutating func append(_ steps: [OutboxTable.Step]) throws {
    guard !steps.isEmpty else { return }
    guard !isSuspect, scan != nil, let file = try system.open(path, writes: true, appends: true) else {
      var table = table
      for step in steps { table.apply(step) }
      return try write(table)
    }
    try append(steps, to: file)
    compact()
  }

  private mutating func append(_ steps: [OutboxTable.Step], to file: borrowing OpenFile) throws(FilePersistence.Failure)
  {
    guard let end = scan?.end else { return }
    if scan?.isTorn == true {
      try file.truncate(to: end)
      // Otherwise a power cut could leave a mixture of the old frame and the new one.
      try file.synchronize()
      scan?.cutOff()
    }
    let frame = Journal.frame(steps, at: end, of: scope)
    do {
      try file.write(frame)
      try file.synchronize()
      try system.synchronizeDirectory(directory.path)
    } catch {
      do {
        try file.truncate(to: end)
        try file.synchronize()
      } catch {
        isSuspect = true
      }
      throw error
    }
    scan?.append(steps, count: frame.count)
  }

  /// Rewrites the journal without old ids, or if most of it is no longer needed. A failure is not
  /// thrown, since the old journal is equivalent.
  private mutating func compact() {
    guard let scan else { return }
    guard scan.table.hasOldIDs || scan.end > Self.compactionSize && scan.end / 2 > scan.table.size else { return }
    var table = scan.table
    if table.hasOldIDs { table.removeOldIDs() }
    try? write(table)
  }
}

extension JournalFile {
  /// Rewrites the journal so that it has only these entries.
  mutating func keep(_ ids: Set<UUID>) throws(FilePersistence.Failure) { try write(table.keeping(ids)) }

  /// Replaces the journal by one with the contents of a table.
  ///
  /// - Parameter damaged: The bytes of the old one, if it is kept under another name. They are
  ///   copied, so that there is a journal under its own name at all times. Not every file system
  ///   has links.
  private mutating func write(_ table: OutboxTable, settingAside damaged: [UInt8]? = nil) throws(FilePersistence
    .Failure)
  {
    let temporary = OutboxDirectory.temporary(of: path)
    let generation = UUID()
    let isFirst = scan == nil
    let end: Int
    var copy: String?
    do {
      try system.remove(temporary)
      end = try create(temporary, generation, table)
      if let damaged {
        let name = try directory.freeName(of: path, at: now())
        copy = name
        try create(name, damaged)
      }
      try system.rename(temporary, to: path)
    } catch {
      _ = try? system.remove(temporary)
      if let copy { _ = try? system.remove(copy) }
      throw error
    }
    scan = JournalScan(table, of: scope, generation: generation, end: end)
    isSuspect = false
    do {
      try system.synchronizeDirectory(directory.path)
    } catch {
      // Nothing was stored before.
      if isFirst, (try? system.remove(path)) != nil { scan = nil }
      throw error
    }
  }

  /// - Returns: The number of bytes.
  private func create(_ path: String, _ generation: UUID, _ table: OutboxTable) throws(FilePersistence.Failure) -> Int {
    var file = try system.create(path)
    let header = Journal.header(generation: generation, scope: scope)
    try file.write(header)
    var end = header.count
    var (steps, size) = ([OutboxTable.Step](), 0)
    let all = table.allSteps
    for (index, step) in all.enumerated() {
      steps.append(step)
      size += step.size
      guard size >= Self.frameSize || index == all.count - 1 else { continue }
      let frame = Journal.frame(steps, at: end, of: scope)
      try file.write(frame)
      end += frame.count
      (steps, size) = ([], 0)
    }
    try file.synchronize()
    try file.close()
    return end
  }

  private func create(_ path: String, _ bytes: [UInt8]) throws(FilePersistence.Failure) {
    var file = try system.create(path)
    try file.write(bytes)
    try file.synchronize()
    try file.close()
  }

}

extension OpenFile {
  /// Writes bytes at the current position.
  func write(_ bytes: [UInt8]) throws(FilePersistence.Failure) {
    var result: Result<Void, FilePersistence.Failure> = .success(())
    bytes.withUnsafeBytes { buffer in
      do throws(FilePersistence.Failure) {
        try write(buffer)
      } catch {
        result = .failure(error)
      }
    }
    try result.get()
  }
}
