import ReactorCore

/// Requests of mutations that await other writes. Meanwhile, they hold the turns of their lanes.
extension Outbox {
  /// Runs `body`, which waits for a write of a lane.
  ///
  /// - Returns: `nil` if the lane would never get a turn.
  func awaiting<Result>(_ lane: String, _ body: () async -> Result) async -> Result? {
    guard let owner = LockOwner.current else { return await body() }
    let limit = max(1, configuration.concurrentLanes)
    switch withState({ $0.beginAwaiting(lane, by: owner, limit) }) {
    case .none: return await body()
    case .endless: return nil
    case .begun(let own):
      defer { withState { $0.endAwaiting(own) } }
      return await body()
    }
  }
}
