import ReactorCore

/// The lanes that send, the lanes whose requests wait for other writes meanwhile, and the lanes
/// that wait for their turn.
struct RunningLanes: Sendable {
  private(set) var running: Set<String> = []
  /// The lanes that send and whose requests await writes, with the counts of these waits.
  private var awaiting: [String: Int] = [:]
  /// The lanes whose write waits for requests of its keys, with these keys.
  private var atGate: [String: Set<RecordKey>] = [:]
  /// The lanes that could send, and wait for their turn; the longest wait is first.
  private var starved = WaitingLanes()

  /// A Boolean value that indicates whether a lane waits for its turn.
  var isStarved: Bool { !starved.isEmpty }

  mutating func begin(_ lane: String) { running.insert(lane) }

  mutating func end(_ lane: String) { running.remove(lane) }

  /// Appends a lane to the lanes that wait for their turn, unless it waits already.
  mutating func starve(_ lane: String) { starved.add(lane) }

  /// Takes out the lane that has waited longest; `nil` if no lane waits, or no turn is free.
  mutating func nextStarved(_ limit: Int) -> String? { running.count < limit ? starved.takeFirst() : nil }

  /// The wait of a request for a write of another lane.
  enum Awaiting {
    /// The waiting task belongs to no lane.
    case none
    case begun(lane: String)
    /// Every sending lane waits, so the other lane cannot start.
    case endless
  }

  /// Records that a request of the lane `own` waits for a write of `lane`.
  mutating func beginAwaiting(_ lane: String, from own: String, _ limit: Int) -> Awaiting {
    awaiting[own, default: 0] += 1
    let mayEnd = running.contains(lane) || running.count < limit || running.contains { awaiting[$0] == nil }
    if !mayEnd { endAwaiting(own) }
    return mayEnd ? .begun(lane: own) : .endless
  }

  /// Records that the write of a lane waits for requests of `keys`; with `nil`, that the wait is
  /// over.
  mutating func wait(_ lane: String, atGateOf keys: Set<RecordKey>?) { atGate[lane] = keys }

  /// The keys of each write that waits for requests, if no lane that runs can continue before one
  /// of them does, and no other lane gets a turn; `nil` otherwise.
  func standingStill(_ limit: Int) -> [Set<RecordKey>]? {
    let stands = running.count >= limit && running.allSatisfy { awaiting[$0] != nil || atGate[$0] != nil }
    return stands && !atGate.isEmpty ? Array(atGate.values) : nil
  }

  mutating func endAwaiting(_ own: String) {
    let count = awaiting[own] ?? 1
    awaiting[own] = count > 1 ? count - 1 : nil
  }
}
