import Foundation
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOperators

@Suite("The pace of runs") struct ThrottleTests {
  /// A clock that can be set back. A sleep on it only records its duration and returns.
  private final class SettableClock: Clock {
    struct Instant: InstantProtocol {
      var elapsed: Duration
      func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
      func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
      static func < (a: Instant, b: Instant) -> Bool { a.elapsed < b.elapsed }
    }

    let time = Shared(Duration.seconds(1_000))
    let sleeps = Shared<[Duration]>([])

    var now: Instant { Instant(elapsed: time.value) }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      sleeps.change { $0.append(now.duration(to: deadline)) }
      time.change { $0 = deadline.elapsed }
    }
  }

  @Test func `a clock that was set back makes the wait no longer than the interval`() async {
    let clock = SettableClock()
    var pace = Throttle(interval: .seconds(10), clock: clock)
    pace.begin()
    clock.time.change { $0 = .zero }
    #expect(await pace.wait())
    #expect(clock.sleeps.value == [.seconds(10)])
  }

  @Test func `the rest of the interval is waited for, and nothing where it has passed`() async {
    let clock = SettableClock()
    var pace = Throttle(interval: .seconds(10), clock: clock)
    pace.begin()
    clock.time.change { $0 += .seconds(4) }
    #expect(await pace.wait())
    #expect(clock.sleeps.value == [.seconds(6)])
    #expect(await pace.wait())
    #expect(clock.sleeps.value.count == 1)
  }

  @Test func `the smallest interval does not pace runs, and does not trap`() async {
    let clock = SettableClock()
    var pace = Throttle(interval: Duration(attoseconds: .min), clock: clock)
    pace.begin()
    clock.time.change { $0 += .seconds(4) }
    #expect(await pace.wait())
    #expect(clock.sleeps.value.isEmpty)
  }
}
