public import Foundation

extension Record.Head {
  /// Until when the response is fresh by its own word (RFC 9111 §4.2.1), or was declared stale; `nil` where it says nothing, so that
  /// the resource's or the configuration's `freshFor` decides. Never later than `Date.distantFuture`.
  public var freshUntil: Date? { Freshness(self).until }
}
