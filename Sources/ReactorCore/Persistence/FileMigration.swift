import Synchronization

/// Gives records that an earlier release stored the names of this one.
///
/// Releases before this one called a scope's directory by its digest alone, and a record by its
/// key's digest, so that only the record itself said which URL it is of. The earlier directory is
/// looked for once in a process and scope; where there is one, every record moves. A record moves by
/// a second name that replaces nothing, then by the loss of the first: whatever ends the process, it
/// is there under one of them, and a record that was saved meanwhile is not replaced by an older one.
final class FileMigration: Sendable {
  let system: FileSystem
  /// Whether a moved record must survive a power cut.
  let synchronizes: Bool
  /// One at a time: who comes second finds the records moved.
  private let moving = Mutex(())

  init(_ system: FileSystem, synchronizes: Bool) {
    self.system = system
    self.synchronizes = synchronizes
  }

  /// Moves what belongs into `folder`. A damaged record is removed, since nobody could load it.
  func run(into folder: String) throws(FilePersistenceError) {
    let earlier = FileNames.earlier(folder)
    guard try system.inspect(earlier)?.isDirectory == true else { return }
    try moving.withLock { _ throws(FilePersistenceError) in try move(from: earlier, to: folder) }
  }

  private func move(from earlier: String, to folder: String) throws(FilePersistenceError) {
    let names = try system.list(earlier)
    let records = names.filter(FileNames.isEarlierRecord)
    if !records.isEmpty { try system.makeDirectory(folder, synchronizes: synchronizes) }
    var moved: [String] = []
    for name in records {
      let path = "\(earlier)/\(name)"
      do {
        guard let target = try target(of: path, in: folder) else { continue }
        try system.link(path, to: target)
        moved.append(path)
      } catch RecordError.newerFormat {
        // The release that wrote it may come back.
      } catch is RecordError {
        _ = try? system.remove(path)
      } catch {
        // It could not be read now. It stays where it is, for the next process.
      }
    }
    if synchronizes, !moved.isEmpty { try system.synchronizeDirectory(folder) }
    for path in moved { try system.remove(path) }
    for name in names where FileNames.isTemporary(name) && FileNames.isAbandoned(name) {
      try system.remove("\(earlier)/\(name)")
    }
    try system.removeDirectory(earlier)
  }

  private func target(of path: String, in folder: String) throws -> String? {
    guard let open = try system.open(path) else { return nil }
    let file = try RecordFile(open, reading: 4 << 10)
    guard let key = RecordKey(identity: file.head.identity) else { throw RecordError.corrupt("it has no key") }
    return FileNames.path(of: key, in: folder)
  }
}
