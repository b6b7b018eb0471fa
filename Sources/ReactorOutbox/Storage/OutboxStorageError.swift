public import Foundation

/// An error of an ``OutboxStorage``. Nothing of a commit that throws it was applied.
@nonexhaustive public enum OutboxStorageError: Error, Sendable, Hashable {
  /// The scope has as many entries as a store accepts.
  case full(limit: Int)
  /// The entry is larger than a store accepts; both sizes are in bytes.
  case tooLarge(size: Int, limit: Int)
  /// The entry to update or to move is not stored. Perhaps another process removed it.
  case unknownEntry(UUID)
  /// The entry is not stored as the commit requires. Another process has changed it.
  case changedEntry(UUID)
  /// The entry to add is stored already.
  case duplicateEntry(UUID)
  /// Another process held the lock of the store for ten seconds.
  case locked(path: String)
  /// A newer release wrote the store. It is left unchanged.
  case newerFormat(path: String)
  /// The storage takes no forms: ``OutboxRequest/form``.
  case takesNoForms
  /// Somebody has removed the store while the program ran. The outbox has saved this many entries
  /// again, which it had in memory. It is reported in an event, and never thrown.
  case replaced(restored: Int)
}

extension OutboxStorageError: CustomStringConvertible, LocalizedError {
  /// A sentence with the failure and, if known, a remedy.
  public var description: String {
    switch self {
    case .full(let limit): "the outbox has \(limit) entries, which is the limit; send or discard some"
    case .tooLarge(let size, let limit):
      "the entry has \(size) bytes, and the storage takes at most \(limit); submit large bodies as parts of a form"
    case .unknownEntry(let id): "the outbox has no entry \(id)"
    case .changedEntry(let id): "another process has changed the entry \(id)"
    case .duplicateEntry(let id): "the outbox has an entry \(id) already"
    case .locked(let path): "another process holds \(path); try again, or end that process"
    case .newerFormat(let path): "a newer release wrote \(path); update this program"
    case .takesNoForms:
      "the outbox's storage takes no forms; use FileOutboxStorage or SQLiteOutboxStorage, or upload the form without the outbox"
    case .replaced(let count):
      "the outbox's store was removed while the program ran; the \(count) entries in memory were saved again; keep the store where nothing cleans up"
    }
  }

  public var errorDescription: String? { description }
}
