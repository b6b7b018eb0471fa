import Foundation
import HTTPCaching

/// The identity of a directory's store, as known to one ``FileOutboxStorage``. The caller holds the
/// directory's lock.
///
/// The lock file contains the identity. The file stays when everything is removed, and is deleted
/// with the directory. Only running processes compare identities, so it need not survive a power
/// cut.
struct DirectoryIdentity: Sendable {
  private var value = UUID()
  /// A Boolean value that indicates whether a store has, or had, this identity.
  private var isTaken = false
  private static let length = 16

  /// Returns the identity that the next new store gets.
  mutating func next() -> UUID {
    if isTaken { (value, isTaken) = (UUID(), false) }
    return value
  }

  /// Returns the identity of the store.
  ///
  /// - Parameters:
  ///   - lock: The file of the lock.
  ///   - journal: A journal that was just read. It determines the identity if `lock` has none,
  ///     because an earlier release created the store or only that file was deleted.
  ///   - writes: A Boolean value that indicates whether the store gets an identity if it has none.
  mutating func find(
    in lock: borrowing OpenFile, _ journal: JournalFile, writes: Bool
  ) throws(FilePersistence.Failure) -> UUID {
    let bytes = try lock.read(Self.length, at: 0)
    if bytes.count == Self.length {
      (value, isTaken) = (UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) }), true)
      return value
    }
    if let generation = journal.generation {
      if !isTaken || !journal.isContinued { value = generation }
      isTaken = true
    } else {
      _ = next()
    }
    if writes {
      try write(to: lock)
      isTaken = true
    }
    return value
  }

  private func write(to lock: borrowing OpenFile) throws(FilePersistence.Failure) {
    try lock.truncate(to: 0)
    // Reading moves the file position.
    _ = try lock.read(0, at: 0)
    try lock.write(withUnsafeBytes(of: value.uuid) { Array($0) })
  }
}
