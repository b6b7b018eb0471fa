import Foundation
import Synchronization

/// Keeps a ``FilePersistence`` within its bytes and its count, and removes what a crash left.
///
/// It counts what is saved, and looks at the directory only when that says so: at the first save, when the sum may be
/// over the limit, and every sixteenth of the limit, since other processes save too.
final class FileLimit: Sendable {
  let bytes: Int
  private let count: Int
  private let usage = Mutex(Usage())
  /// Held while a file is renamed into its place or evicted, so that eviction never takes a record that was just saved
  /// here. One that another process replaces between the look and the removal goes with the old one, and is a miss.
  private let replacing = Mutex(())
  /// In seconds: a temporary file that nobody has written to for so long is a leftover, whoever wrote it.
  private static let temporaryLifetime = 3_600
  /// In seconds: a time of use that is so far ahead is from a clock that was set back since, and says
  /// nothing (as in SQLite).
  private static let ahead = 60

  private struct Usage {
    /// Of all records, at least; `nil` before they were counted.
    var total: Amount?
    /// The amount that was saved since.
    var added = Amount()
    var isCounting = false
  }

  private struct Amount {
    var bytes = 0
    var count = 0

    static func + (a: Amount, b: Amount) -> Amount {
      Amount(bytes: a.bytes.addingReportingOverflow(b.bytes).partialValue, count: a.count + b.count)
    }
  }

  private struct File {
    var path: String
    var size: Int
    var used: FileTime

    /// Returns whether it is evicted before `other`: the least recently used first, and before them
    /// all, the furthest first, what was used later than `ahead`.
    func precedes(_ other: File, ahead: Int) -> Bool {
      let (own, others) = (used.seconds > ahead, other.used.seconds > ahead)
      guard own == others else { return own }
      return own ? other.used < used : used < other.used
    }
  }

  init(bytes: Int, count: Int) {
    self.bytes = bytes
    self.count = max(1, count)
  }

  func excludingEviction(_ body: () throws(FilePersistenceError) -> Void) throws(FilePersistenceError) {
    try replacing.withLock { _ throws(FilePersistenceError) in try body() }
  }

  /// Everything has to be counted anew.
  func forget() { usage.withLock { $0.total = nil } }

  /// Counts a saved record, and evicts others where that is due. A failure is not thrown, since the record is saved: the
  /// next save tries again.
  func saved(_ size: Int, at path: String, _ names: FileNames, _ system: FileSystem) {
    let isDue = usage.withLock { usage in
      usage.added = usage.added + Amount(bytes: size, count: 1)
      guard !usage.isCounting, isOver(usage) else { return false }
      usage.isCounting = true
      usage.added = Amount()
      return true
    }
    guard isDue else { return }
    let total = try? evict(keeping: path, names, system)
    usage.withLock { usage in
      usage.total = total
      usage.isCounting = false
    }
  }

  private func isOver(_ usage: Usage) -> Bool {
    guard let total = usage.total else { return true }
    let sum = total + usage.added
    return sum.bytes > bytes || sum.count > count || usage.added.bytes >= max(1, bytes / 16)
      || usage.added.count >= max(1, count / 16)
  }

  private func evict(
    keeping saved: String, _ names: FileNames, _ system: FileSystem
  ) throws(FilePersistenceError) -> Amount {
    var files = try files(names, system)
    var total = Amount(bytes: files.reduce(0) { $0 + $1.size }, count: files.count)
    guard total.bytes > bytes || total.count > count else { return total }
    let limit = FileTime.now.seconds + Self.ahead
    files.sort { $0.precedes($1, ahead: limit) }
    for file in files where file.path != saved {
      guard total.bytes > bytes - bytes / 8 || total.count > count - count / 8 else { break }
      guard try remove(file, system) else { continue }
      total.bytes -= file.size
      total.count -= 1
    }
    return total
  }

  /// Removes the file unless it was used or replaced since it was listed.
  private func remove(_ file: File, _ system: FileSystem) throws(FilePersistenceError) -> Bool {
    try replacing.withLock { _ throws(FilePersistenceError) in
      guard let status = try system.inspect(file.path) else { return true }
      guard status.modified == file.used else { return false }
      try system.remove(file.path)
      return true
    }
  }

  /// All records; removes leftovers on the way.
  private func files(_ names: FileNames, _ system: FileSystem) throws(FilePersistenceError) -> [File] {
    var files: [File] = []
    // The root has no records; the secret key's temporary file may be left there.
    for folder in try [names.directory()] + names.buckets(of: nil, system) {
      for name in try system.list(folder) {
        let path = "\(folder)/\(name)"
        if FileNames.isRecord(name) {
          guard let status = try system.inspect(path), status.isRegular else { continue }
          files.append(File(path: path, size: status.size, used: status.modified))
        } else if FileNames.isTemporary(name) {
          removeLeftover(path, name, system)
        }
      }
    }
    return files
  }

  private func removeLeftover(_ path: String, _ name: String, _ system: FileSystem) {
    guard let status = try? system.inspect(path) else { return }
    let age = FileTime.now.seconds - status.modified.seconds
    if FileNames.isAbandoned(name) || age > Self.temporaryLifetime { _ = try? system.remove(path) }
  }
}
