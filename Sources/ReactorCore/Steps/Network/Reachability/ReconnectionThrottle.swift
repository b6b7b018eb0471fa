/// The refreshes of what streams show after connectivity has returned, at most one in ten seconds:
/// a connection may come and go.
struct ReconnectionThrottle: Sendable {
  enum Action: Sendable, Hashable {
    case nothing
    /// Go on with what waits for connectivity.
    case resume
    /// Go on, and refresh what is stale or has failed.
    case refresh
    /// Go on, and refresh at this time if there is connectivity then.
    case refreshLater(Duration)
  }

  static let interval: Duration = .seconds(10)

  private var wasReachable = true
  /// The time of a refresh that is to come.
  private var planned: Duration?
  /// The time before which no other refresh begins.
  private var earliest: Duration = .zero

  /// Records a value of `Reachability.changes`.
  mutating func changed(isReachable: Bool, at time: Duration) -> Action {
    defer { wasReachable = isReachable }
    guard isReachable else { return .nothing }
    if wasReachable { return .resume }
    if let planned, time < planned { return .resume }
    guard time < earliest else {
      earliest = time + Self.interval
      return .refresh
    }
    let next = earliest
    (planned, earliest) = (next, next + Self.interval)
    return .refreshLater(next)
  }
}
