import Foundation
import Synchronization

/// The wall clock with an offset, so that the demo need not wait for a record to become stale.
final class DemoClock: Sendable {
  private let offset = Mutex<TimeInterval>(0)

  var now: Date { Date() + offset.withLock { $0 } }

  func advance(minutes: Int) { offset.withLock { $0 += TimeInterval(minutes) * 60 } }
}
