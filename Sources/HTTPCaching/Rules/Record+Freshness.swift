public import Foundation

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
