import Foundation
import HTTPTypes

/// How long a response that says nothing of it may be taken for fresh (RFC 9111 §4.2.2).
enum Heuristic {
  /// A tenth of the time since it was last changed, a week at most; `nil` where that is not known, or the response may not be
  /// reused without a word of its own.
  static func lifetime(_ head: Record.Head, _ control: CacheControl) -> Double? {
    guard statuses.contains(head.status.code) || control.isStorable,
      let modified = head.date(.lastModified)
    else { return nil }
    let date = head.date(.date) ?? head.receivedAt
    return max(0, min(week, date.timeIntervalSince(modified) / 10))
  }

  /// The statuses that are *heuristically cacheable* (RFC 9110 §15.1), but for 206.
  static let statuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
  private static let week = 7 * 86_400.0
}
