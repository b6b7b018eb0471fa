import Foundation
import HTTPTypes

extension Record.Head {
  /// Returns the status of the response from only its own fields, or `nil` if it must not be
  /// stored.
  func copyStatus(at now: Date, by rules: CacheRules = .private) -> CopyStatus? {
    let control = rules.control(of: fields)
    var freshness = Freshness(self, control)
    if localModel == nil, freshness.lifetime == nil { freshness.lifetime = Heuristic.lifetime(self, control) }
    var status = freshness.status(at: now, freshFor: nil, fallback: 0, staleIfError: 0)
    // These directives do not bind a private cache (§4.2.4). Obeying them is harmless, and right
    // for a server that takes this cache for a shared one.
    if status?.isFresh == false, control.isSharedMustRevalidate { status?.allowsStale = false }
    return status
  }
}

/// The freshness lifetime of a response that states none (RFC 9111 §4.2.2).
enum Heuristic {
  /// Returns a tenth of the time since the last change, at most a week.
  ///
  /// - Returns: `nil` where the last change is unknown, or where the status does not allow
  ///   heuristics and the response has neither `public` nor `private`.
  static func lifetime(_ head: Record.Head, _ control: CacheControl) -> Double? {
    guard statuses.contains(head.status.code) || control.isStorable,
      let modified = head.date(.lastModified)
    else { return nil }
    let date = head.date(.date) ?? head.receivedAt
    return max(0, min(week, date.timeIntervalSince(modified) / 10))
  }

  /// The statuses that are *heuristically cacheable* (RFC 9110 §15.1), except 206.
  static let statuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
  private static let week = 7 * 86_400.0
}
