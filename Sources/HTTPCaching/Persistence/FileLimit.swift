import Foundation
import Synchronization

/// Limits the bytes and the number of a ``FilePersistence``, and removes files that a crash left.
///
/// It counts saves. It lists the directory at the first save and when the sum may exceed the limit.
/// Because other processes save too, it also does so after each sixteenth of the limit.
final class FileLimit: Sendable {
  let bytes: Int
  private let count: Int
  private let usage = Mutex(Usage())
  /// Held while a file is renamed or evicted, so eviction never removes a record that this process
  /// just saved. If another process replaces a file between inspection and removal, its new record
  /// is removed and becomes a miss.
  private let replacing = Mutex(())
  /// The seconds without a write after which a temporary file is a leftover of any process.
  private static let temporaryLifetime = 3_600
  /// The seconds by which a time of use may be ahead. A later time is from a clock that was set
  /// back since, and says nothing about use. SQLite has the same rule.
  private static let ahead = 60

  private struct Usage {
    /// The amount of all records, or less; `nil` before they were counted.
    var total: Amount?
    /// The amount that was saved since the count.
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

    /// Returns whether this file is evicted before `other`.
    ///
    /// Files used later than `ahead` are first, the latest of them before all. The others follow,
    /// the least recently used first.
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

  /// Runs `body` while nothing is evicted.
  func excludingEviction(_ body: () throws(FilePersistence.Failure) -> Void) throws(FilePersistence.Failure) {
    try replacing.withLock { _ throws(FilePersistence.Failure) in try body() }
  }

  /// Discards the total, so that the next save counts everything again.
  func forget() { usage.withLock { $0.total = nil } }

  /// Counts a saved record, and evicts others if the limit requires it. A failure is not thrown,
  /// because the record is saved. The next save tries again.
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
  ) throws(FilePersistence.Failure) -> Amount {
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

  /// Removes a file, unless it was used or replaced since it was listed.
  ///
  /// - Returns: `true` if the file is gone.
  private func remove(_ file: File, _ system: FileSystem) throws(FilePersistence.Failure) -> Bool {
    try replacing.withLock { _ throws(FilePersistence.Failure) in
      guard let status = try system.inspect(file.path) else { return true }
      guard status.modified == file.used else { return false }
      try system.remove(file.path)
      return true
    }
  }

  /// Returns the files of all records, and removes leftovers on the way.
  private func files(_ names: FileNames, _ system: FileSystem) throws(FilePersistence.Failure) -> [File] {
    var files: [File] = []
    // The root has no records, but may have the temporary file of a secret key.
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
