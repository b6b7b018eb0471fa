import ReactorCore
import Synchronization

/// The state of a stream of changes at one moment, for an inspector.
package struct LiveReport: Sendable {
  package let status: LiveStatus
  /// A Boolean value that indicates whether the response to the request for the stream is awaited.
  package let isConnecting: Bool
  /// The time until the next request for the stream; `nil` if none is due.
  package let wait: Duration?
  /// The time since the last bytes; `nil` without a stream.
  package let silence: Duration?
  /// The longest silence that the server has announced.
  package let heartbeat: Duration?
  /// The position in the server's history; empty before the first.
  package let position: String
  /// The observed keys that wait for a request or are requested.
  package let queued: Int
  package let counts: LiveRecord.Counts
  /// The latest steps, oldest first, with the time since each.
  package let steps: [(step: LiveRecord.Step, age: Duration)]
}

extension LiveUpdates {
  /// Records steps from now on.
  package func beginInspection() { state.withLock { $0.record.beginInspection() } }

  /// A count that increases when ``report(since:)`` changes. The passage of time changes its
  /// durations without it.
  package var version: UInt64 { state.withLock(\.record.version) }

  /// Returns the state of the stream, with the steps whose number is greater than `number`.
  package func report(since number: UInt64) -> LiveReport {
    let time = elapsed()
    return state.withLock { state in
      let live = state.live
      var (wait, silence, heartbeat, isConnecting) = (Duration?.none, Duration?.none, Duration?.none, false)
      switch live.phase {
      case .connecting: isConnecting = true
      case .open(let open): (silence, heartbeat) = (time - open.heardAt, open.heartbeat)
      case .waiting(let until, _): wait = max(.zero, until - time)
      case .idle, .off: break
      }
      return LiveReport(
        status: live.status, isConnecting: isConnecting, wait: wait, silence: silence, heartbeat: heartbeat,
        position: live.lastEventID, queued: state.queue.count, counts: state.record.counts,
        steps: state.record.steps.filter { $0.number > number }.map { ($0, time - $0.at) })
    }
  }
}
