import ReactorTesting
import Synchronization

/// A process that stands still now and then: whatever would continue in it waits.
final class Standstill: Sendable {
  private struct State {
    var gate: Gate?
    var count = 0
  }

  private let state = Mutex(State())

  /// The number of times that the process has stood still.
  var count: Int { state.withLock(\.count) }

  func begin() {
    state.withLock { state in
      guard state.gate == nil else { return }
      state.gate = Gate()
      state.count += 1
    }
  }

  func end() { state.withLock { $0.gate.take() }?.open() }

  /// Waits while the process stands still.
  func wait() async { while let gate = state.withLock(\.gate), (try? await gate.wait()) != nil {} }
}

/// The clock of such a process: its time continues, and its timers fire once it does.
struct StandstillClock: Clock {
  let clock: TestClock
  let standstill: Standstill

  var now: TestClock.Instant { clock.now }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
    try await clock.sleep(until: deadline)
    await standstill.wait()
  }
}
