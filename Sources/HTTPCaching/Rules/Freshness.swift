public import Foundation
import HTTPTypes

/// The facts that decide whether a copy is fresh: when it was fetched, and what the response said.
/// One rule for every tier. A hit in ReactorCore's memory asks it, so what it asks is inlinable there.
package struct Freshness: Sendable, Hashable {
  /// The moment from which the copy's age counts.
  package var since: Date
  /// Seconds that the response says it is fresh for (RFC 9111 §4.2.1); `nil` where it says nothing.
  package var lifetime: Double?
  /// The time at which it was declared stale, whatever its lifetime.
  package var invalidatedAt: Date?
  /// RFC 9111 §5.2.2.5: to be kept by nobody.
  package var isNoStore = false
  /// RFC 9111 §5.2.2.4: not to be used without asking.
  package var isNoCache = false
  /// RFC 9111 §5.2.2.2: not to be used stale.
  package var isMustRevalidate = false
  /// RFC 5861 §3 and §4, in seconds.
  package var staleWhileRevalidate: Double?
  package var staleIfError: Double?

  /// A value without an exchange: only its time counts.
  package init(since: Date) { self.since = since }

  /// Its age when it came is what its `Age` says and the time that the answer took (RFC 9111 §4.2.3, *corrected age value*); its
  /// `Date` is not asked for more, since that would need a clock that goes as the server's.
  ///
  /// - Parameter usesHeuristics: whether a response that says nothing is fresh for a part of the time that it was unchanged
  ///   (§4.2.2).
  package init(_ head: Record.Head, usesHeuristics: Bool = false) {
    let control = CacheControl(head.fields)
    let delay = max(0, head.receivedAt.timeIntervalSince(head.requestedAt))
    since = head.receivedAt.addingTimeInterval(-delay - Self.age(head.fields))
    invalidatedAt = head.invalidatedAt
    guard head.localModel == nil else { return }
    lifetime = Self.lifetime(control, head)
    if lifetime == nil, usesHeuristics { lifetime = Heuristic.lifetime(head, control) }
    isNoStore = control.forbidsStoring(head.status)
    isNoCache = control.isNoCache
    isMustRevalidate = control.isMustRevalidate
    staleWhileRevalidate = control.staleWhileRevalidate?.inSeconds
    staleIfError = control.staleIfError?.inSeconds
  }

  /// RFC 9111 §4.2.1: `max-age`, else `Expires` less `Date`; what cannot be read is stale (§5.3).
  private static func lifetime(_ control: CacheControl, _ head: Record.Head) -> Double? {
    if control.isNoCache { return 0 }
    if let maxAge = control.maxAge { return maxAge.inSeconds }
    guard head.fields.contains(.expires) else { return nil }
    guard let end = head.date(.expires) else { return 0 }
    let start = head.date(.date) ?? head.receivedAt
    return max(0, end.timeIntervalSince(start))
  }

  /// The first member of `Age`, in seconds; zero where there is none, or that is no number (RFC 9111 §5.1).
  private static func age(_ fields: HTTPFields) -> Double {
    var first: Int64??
    fields.forEachElement(of: .age) { first = first ?? .some(DeltaSeconds.parse($0.bytes)) }
    return Double((first ?? nil) ?? 0)
  }

  /// Returns the copy's status at `now`; `nil` where it may not be kept at all.
  ///
  /// - Parameters:
  ///   - setBack: seconds by which the wall clock was set back since, as far as this process has seen it.
  ///   - freshFor: the resource's own word in seconds, which goes before the response's.
  ///   - fallback: the configuration's, in seconds, where neither says anything.
  ///   - staleIfError: the configuration's window in seconds.
  @inlinable package func status(
    at now: Date, setBack: Double = 0, freshFor: Double?, fallback: Double, staleIfError: Double
  ) -> CopyStatus? {
    guard !isNoStore else { return nil }
    let isPast = now >= since
    let age = now.timeIntervalSince(since) + setBack
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    // Whatever the clock says now: it may have been set back since.
    let isInvalid = invalidatedAt != nil
    // A record from the future, or a clock set back: stale, and never longer alive for it.
    let isFresh = isPast && age < lifetime && !isInvalid
    let overdue = isPast && now >= invalidatedAt ?? now ? age - lifetime : .infinity
    return CopyStatus(
      isFresh: isFresh,
      allowsStale: !isNoCache && !(isMustRevalidate && !isFresh),
      // What was declared stale is validated before it is used (RFC 9111 §4.4).
      isWithinStaleWhileRevalidate: !isInvalid && overdue < self.staleWhileRevalidate ?? 0,
      isWithinStaleIfError: overdue < self.staleIfError ?? staleIfError,
      age: max(0, age), lifetime: lifetime, isInvalid: isInvalid)
  }
}

extension Freshness {
  /// Seconds from `now` until the copy is stale; `nil` where it is, or may not be kept. The parameters are those of
  /// ``status(at:setBack:freshFor:fallback:staleIfError:)``.
  @inlinable package func rest(at now: Date, setBack: Double = 0, freshFor: Double?, fallback: Double) -> Double? {
    let age = now.timeIntervalSince(since) + setBack
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    return !isNoStore && invalidatedAt == nil && now >= since && age < lifetime ? lifetime - age : nil
  }

  /// The moment at which the copy becomes stale by the response's own word; `nil` where that says nothing.
  var until: Date? {
    let end = lifetime.map { min(since.addingTimeInterval(isNoStore ? 0 : $0), .distantFuture) }
    guard let invalidatedAt else { return end }
    return end.map { min($0, invalidatedAt) } ?? invalidatedAt
  }

  @inlinable package func lifetime(freshFor: Double?, fallback: Double) -> Double {
    let lifetime = freshFor ?? self.lifetime ?? fallback
    return invalidatedAt.map { min(lifetime, $0.timeIntervalSince(since)) } ?? lifetime
  }
}

/// The status of a copy at one moment.
package struct CopyStatus: Sendable, Hashable {
  package var isFresh: Bool
  /// A Boolean value that indicates whether it may be used though the server was not asked.
  package var allowsStale: Bool
  /// Within the window that the server gave (RFC 5861 §3).
  package var isWithinStaleWhileRevalidate: Bool
  /// Within the window in which it may stand in for an error (RFC 5861 §4).
  package var isWithinStaleIfError: Bool
  /// In seconds (RFC 9111 §4.2.3, *current age*).
  package var age = 0.0
  /// In seconds.
  package var lifetime = 0.0
  /// A Boolean value that indicates whether it was declared stale.
  package var isInvalid = false

  @inlinable package init(
    isFresh: Bool, allowsStale: Bool, isWithinStaleWhileRevalidate: Bool, isWithinStaleIfError: Bool, age: Double = 0,
    lifetime: Double = 0, isInvalid: Bool = false
  ) {
    self.isFresh = isFresh
    self.allowsStale = allowsStale
    self.isWithinStaleWhileRevalidate = isWithinStaleWhileRevalidate
    self.isWithinStaleIfError = isWithinStaleIfError
    self.age = age
    self.lifetime = lifetime
    self.isInvalid = isInvalid
  }
}

/// The time for which a response that says nothing of it may be taken for fresh (RFC 9111 §4.2.2).
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

extension Record.Head {
  /// Until when the response is fresh by its own word (RFC 9111 §4.2.1), or was declared stale; `nil` where it says nothing, so that
  /// the resource's or the configuration's `freshFor` decides. Never later than `Date.distantFuture`.
  public var freshUntil: Date? { Freshness(self).until }
}

extension Record.Head {
  /// Declares it stale. Each declaration leaves a time that the one before it did not, so that whoever
  /// compares sees that there was one, also where the clock stands still or was set back.
  mutating func invalidate(at date: Date) {
    let seconds = date.timeIntervalSinceReferenceDate
    invalidatedAt = date == invalidatedAt ? Date(timeIntervalSinceReferenceDate: seconds.nextUp) : date
  }
}
