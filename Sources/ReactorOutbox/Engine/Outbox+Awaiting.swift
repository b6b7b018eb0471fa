import ReactorCore
import ReactorWrites

/// Requests of mutations that await other writes. Meanwhile, their lanes keep their turns.
extension Outbox {
  /// Runs `body`, which waits for a write of a lane.
  ///
  /// - Returns: `nil` if the lane could never start.
  func awaiting<Result>(_ lane: String, _ body: () async -> Result) async -> Result? {
    guard let owner = LockOwner.current else { return await body() }
    let limit = max(1, configuration.concurrentLanes)
    switch withState({ $0.beginAwaiting(lane, by: owner, limit) }) {
    case .none: return await body()
    case .endless: return nil
    case .begun(let own):
      defer { withState { $0.endAwaiting(own) } }
      refuseEndlessWaits()
      return await body()
    }
  }

  /// Refuses waits for a lane that cannot start, because every running lane waits for these
  /// requests. Call it after a lane or a request has started to wait.
  func refuseEndlessWaits() {
    guard let layer, let (owners, writes) = withState({ $0.withoutTurns(max(1, configuration.concurrentLanes)) }) else {
      return
    }
    for owner in owners { layer.refuseWaits(for: owner, behind: writes) }
  }
}
