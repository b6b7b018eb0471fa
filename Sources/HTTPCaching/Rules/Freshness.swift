public import Foundation
import HTTPTypes

/// The facts that decide whether a copy is fresh: the time of the exchange and the response's
/// fields.
///
/// Memory and persistence use this one rule. Its hot path is inlinable for hits in ReactorCore's
/// memory.
package struct Freshness: Sendable, Hashable {
  /// The time from which the copy's age counts.
  package var since: Date
  /// The freshness lifetime in seconds that the response states (RFC 9111 §4.2.1); `nil` where it
  /// states none.
  package var lifetime: Double?
  /// The time at which the copy was declared stale, whatever its lifetime; `nil` if it never was.
  package var invalidatedAt: Date?
  /// A Boolean value that indicates whether no cache may store the response (RFC 9111 §5.2.2.5).
  package var isNoStore = false
  /// A Boolean value that indicates whether the copy must be validated before each use
  /// (RFC 9111 §5.2.2.4).
  package var isNoCache = false
  /// A Boolean value that indicates whether the copy must not be used stale (RFC 9111 §5.2.2.2).
  package var isMustRevalidate = false
  /// The window of `stale-while-revalidate` in seconds (RFC 5861 §3); `nil` where the response has
  /// none.
  package var staleWhileRevalidate: Double?
  /// The window of `stale-if-error` in seconds (RFC 5861 §4); `nil` where the response has none.
  package var staleIfError: Double?

  /// Creates the freshness of a copy without a response, which has only a time.
  package init(since: Date) { self.since = since }

  /// Creates the freshness of a stored response.
  ///
  /// Its age on arrival is its `Age` plus the time of the exchange (RFC 9111 §4.2.3, *corrected age
  /// value*). `Date` does not count further, because that would require the server's clock to agree
  /// with this one.
  ///
  /// - Parameters:
  ///   - head: The head of the stored record.
  ///   - control: The directives that concern the cache. Default: the rules for a private cache.
  package init(_ head: Record.Head, _ control: CacheControl? = nil) {
    let control = control ?? CacheControl(head.fields)
    let delay = max(0, head.receivedAt.timeIntervalSince(head.requestedAt))
    since = head.receivedAt.addingTimeInterval(-delay - Self.age(head.fields))
    invalidatedAt = head.invalidatedAt
    guard head.localModel == nil else { return }
    lifetime = Self.lifetime(control, head)
    isNoStore = control.forbidsStoring(head.status)
    isNoCache = control.isNoCache
    isMustRevalidate = control.isMustRevalidate
    staleWhileRevalidate = control.staleWhileRevalidate?.inSeconds
    staleIfError = control.staleIfError?.inSeconds
  }

  /// Returns `max-age`, or else `Expires` minus `Date` (RFC 9111 §4.2.1). An invalid date makes the
  /// response stale (§5.3).
  private static func lifetime(_ control: CacheControl, _ head: Record.Head) -> Double? {
    if control.isNoCache { return 0 }
    if let maxAge = control.maxAge { return maxAge.inSeconds }
    guard !control.isTargeted, head.fields.contains(.expires) else { return nil }
    guard let end = head.date(.expires) else { return 0 }
    let start = head.date(.date) ?? head.receivedAt
    return max(0, end.timeIntervalSince(start))
  }

  /// Returns the first member of `Age`, in seconds. A missing or invalid one counts as zero
  /// (RFC 9111 §5.1).
  private static func age(_ fields: HTTPFields) -> Double {
    var first: Int64??
    fields.forEachElement(of: .age) { first = first ?? .some(DeltaSeconds.parse($0.bytes)) }
    return Double((first ?? nil) ?? 0)
  }

  /// Returns the status of the copy at `now`, or `nil` if the copy must not be stored at all.
  ///
  /// - Parameters:
  ///   - now: The current time of the wall clock.
  ///   - setBack: The seconds by which the wall clock was set back since, as far as this process
  ///     has seen.
  ///   - freshFor: The lifetime in seconds that the resource sets. It takes precedence over the
  ///     response's.
  ///   - fallback: The lifetime in seconds where neither the resource nor the response sets one.
  ///   - staleIfError: The window in seconds where the response has no `stale-if-error`.
  @inlinable package func status(
    at now: Date, setBack: Double = 0, freshFor: Double?, fallback: Double, staleIfError: Double
  ) -> CopyStatus? {
    guard !isNoStore else { return nil }
    let isPast = now >= since
    let age = now.timeIntervalSince(since) + setBack
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    // The clock may have been set back since, so `now` is not compared.
    let isInvalid = invalidatedAt != nil
    // A record from the future, or a clock that was set back: the copy is stale, and outside every
    // window.
    let isFresh = isPast && age < lifetime && !isInvalid
    let overdue = isPast && now >= invalidatedAt ?? now ? age - lifetime : .infinity
    return CopyStatus(
      isFresh: isFresh,
      allowsStale: !isNoCache && !(isMustRevalidate && !isFresh),
      // An invalidated copy is validated before it is used (RFC 9111 §4.4).
      isWithinStaleWhileRevalidate: !isInvalid && overdue < self.staleWhileRevalidate ?? 0,
      isWithinStaleIfError: overdue < self.staleIfError ?? staleIfError,
      age: max(0, age), lifetime: lifetime, isInvalid: isInvalid)
  }
}

extension Freshness {
  /// Returns the seconds from `now` until the copy becomes stale, or `nil` if it is stale or must
  /// not be stored. For the parameters, see ``status(at:setBack:freshFor:fallback:staleIfError:)``.
  @inlinable package func rest(at now: Date, setBack: Double = 0, freshFor: Double?, fallback: Double) -> Double? {
    let age = now.timeIntervalSince(since) + setBack
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    return !isNoStore && invalidatedAt == nil && now >= since && age < lifetime ? lifetime - age : nil
  }

  /// The time at which the copy becomes stale by the response's own fields; `nil` where they state
  /// no lifetime.
  var until: Date? {
    let end = lifetime.map { min(since.addingTimeInterval(isNoStore ? 0 : $0), .distantFuture) }
    guard let invalidatedAt else { return end }
    return end.map { min($0, invalidatedAt) } ?? invalidatedAt
  }

  /// Returns the lifetime in seconds, at most the time from the response to its invalidation. For
  /// the parameters, see ``status(at:setBack:freshFor:fallback:staleIfError:)``.
  @inlinable package func lifetime(freshFor: Double?, fallback: Double) -> Double {
    let lifetime = freshFor ?? self.lifetime ?? fallback
    return invalidatedAt.map { min(lifetime, $0.timeIntervalSince(since)) } ?? lifetime
  }
}

/// The status of a copy at one time.
package struct CopyStatus: Sendable, Hashable {
  /// A Boolean value that indicates whether the age is below the lifetime and the copy is not
  /// invalidated.
  package var isFresh: Bool
  /// A Boolean value that indicates whether the copy may be used without asking the server.
  package var allowsStale: Bool
  /// A Boolean value that indicates whether the copy is within `stale-while-revalidate`
  /// (RFC 5861 §3).
  package var isWithinStaleWhileRevalidate: Bool
  /// A Boolean value that indicates whether the copy may be a stale fallback for an error
  /// (RFC 5861 §4).
  package var isWithinStaleIfError: Bool
  /// The age in seconds, never negative (RFC 9111 §4.2.3, *current age*).
  package var age = 0.0
  /// The freshness lifetime in seconds.
  package var lifetime = 0.0
  /// A Boolean value that indicates whether the copy was invalidated.
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

extension Record.Head {
  /// The time until which the response is fresh by its own fields (RFC 9111 §4.2.1), or at which it
  /// was invalidated if that is earlier.
  ///
  /// `nil` where the fields state no lifetime, so the `freshFor` of the resource or the
  /// configuration decides. Never later than `Date.distantFuture`.
  public var freshUntil: Date? { Freshness(self).until }
}

extension Record.Head {
  /// Marks the response stale at `date`. Each call leaves another time than the call before, so a
  /// comparison reveals it even if the clock stood still or was set back.
  package mutating func invalidate(at date: Date) {
    let seconds = date.timeIntervalSinceReferenceDate
    invalidatedAt = date == invalidatedAt ? Date(timeIntervalSinceReferenceDate: seconds.nextUp) : date
  }
}
