import Foundation
import HTTPTypes

/// What decides whether a copy is fresh: when it was fetched, and what the response said. One rule for every tier.
struct Freshness: Sendable, Hashable {
  /// The moment from which the copy's age counts.
  var since: Date
  /// Seconds that the response says it is fresh for (RFC 9111 §4.2.1); `nil` where it says nothing.
  var lifetime: Double?
  /// When it was declared stale, whatever its lifetime.
  var invalidatedAt: Date?
  /// RFC 9111 §5.2.2.5: to be kept by nobody.
  var isNoStore = false
  /// RFC 9111 §5.2.2.4: not to be used without asking.
  var isNoCache = false
  /// RFC 9111 §5.2.2.2: not to be used stale.
  var isMustRevalidate = false
  /// RFC 5861 §3 and §4, in seconds.
  var staleWhileRevalidate: Double?
  var staleIfError: Double?

  /// A value without an exchange: only its time counts.
  init(since: Date) { self.since = since }

  /// - Parameter head: its `Age` counts, as RFC 9111 §4.2.3 computes the *corrected initial age*.
  init(_ head: Record.Head) {
    let control = CacheControl(head.fields)
    let delay = max(0, head.receivedAt.timeIntervalSince(head.requestedAt))
    let age = head.fields[.age].map { CacheControl.deltaSeconds($0).inSeconds }
    since = head.receivedAt.addingTimeInterval(-(age.map { $0 + delay } ?? 0))
    invalidatedAt = head.invalidatedAt
    guard head.localModel == nil else { return }
    lifetime = control.isNoCache ? 0 : control.maxAge?.inSeconds
    isNoStore = control.isNoStore
    isNoCache = control.isNoCache
    isMustRevalidate = control.isMustRevalidate
    staleWhileRevalidate = control.staleWhileRevalidate?.inSeconds
    staleIfError = control.staleIfError?.inSeconds
  }

  /// How the copy stands at `now`; `nil` where it may not be kept at all.
  ///
  /// - Parameters:
  ///   - freshFor: the resource's own word in seconds, which goes before the response's.
  ///   - fallback: the configuration's, in seconds, where neither says anything.
  ///   - staleIfError: the configuration's window in seconds.
  func standing(at now: Date, freshFor: Double?, fallback: Double, staleIfError: Double) -> Standing? {
    guard !isNoStore else { return nil }
    let age = now.timeIntervalSince(since)
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    // A record from the future, or a clock set back: stale, and never longer alive for it.
    let isFresh = age >= 0 && age < lifetime
    let overdue = age >= 0 ? age - lifetime : .infinity
    return Standing(
      isFresh: isFresh,
      mayStandIn: !isNoCache && !(isMustRevalidate && !isFresh),
      isWithinStaleWhileRevalidate: overdue < self.staleWhileRevalidate ?? 0,
      isWithinStaleIfError: overdue < self.staleIfError ?? staleIfError)
  }
}

extension Freshness {
  /// Seconds from `now` until the copy is stale; `nil` where it is, or may not be kept. The parameters are those of
  /// ``standing(at:freshFor:fallback:staleIfError:)``.
  func rest(at now: Date, freshFor: Double?, fallback: Double) -> Double? {
    let age = now.timeIntervalSince(since)
    let lifetime = lifetime(freshFor: freshFor, fallback: fallback)
    return !isNoStore && age >= 0 && age < lifetime ? lifetime - age : nil
  }

  private func lifetime(freshFor: Double?, fallback: Double) -> Double {
    let lifetime = freshFor ?? self.lifetime ?? fallback
    return invalidatedAt.map { min(lifetime, $0.timeIntervalSince(since)) } ?? lifetime
  }
}

/// How a copy stands at one moment.
struct Standing: Sendable, Hashable {
  var isFresh: Bool
  /// Whether it may be used though the server was not asked.
  var mayStandIn: Bool
  /// Within the window that the server gave (RFC 5861 §3).
  var isWithinStaleWhileRevalidate: Bool
  /// Within the window in which it may stand in for an error (RFC 5861 §4).
  var isWithinStaleIfError: Bool
}
