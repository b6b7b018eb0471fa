import Foundation
import ReactorCore

/// The idempotency keys that a program makes. A key stands for one request (the draft
/// idempotency-key-header, §2.2): a server answers a second one with the response of the first.
extension OutboxState {
  /// Returns a Boolean value that indicates whether another entry has the key of `entry` and a
  /// request of other bytes.
  func usesKeyForOtherBytes(_ entry: OutboxEntry) -> Bool {
    guard let key = entry.idempotencyKey, let request = entry.request else { return false }
    func isOther(_ other: OutboxEntry) -> Bool {
      guard other.idempotencyKey == key, other.id != entry.id, let made = other.request, made.isKeyed else {
        return false
      }
      return made.method != request.method || made.url != request.url || made.body != request.body
    }
    return queue.entries.values.contains(where: isOther) || submitting.values.contains { isOther($0.entry) }
      || unreadable.values.contains { $0.entry.map(isOther) ?? false }
  }
}

extension ReactorError {
  /// The error of a key that another entry has for other bytes.
  static var usedKey: ReactorError {
    .invalidResource(
      "another write of the outbox has this idempotency key, with another method, URL or body; give each write a key of its own"
    )
  }
}
