public import Foundation
import ReactorCore
import Synchronization

/// A clock that stands still until the test moves it, with a wall clock beside it.
///
/// ```swift
/// let clock = TestClock()
/// configuration.clock = clock
/// configuration.now = clock.wallClock
/// …
/// try await clock.waitForSleepers()   // somebody waits
/// clock.advance(by: .seconds(60))     // and goes on
/// ```
///
/// One call of ``advance(by:)`` wakes those who sleep at that moment, in the order of their deadlines, then of their
/// arrival. On one task executor they go on in that order; two threads may turn two of them round. Who sleeps again
/// afterwards counts from the new time, so drive a repeated wait one period at a time: advance,
/// ``waitForSleepers(count:)``, advance.
public final class TestClock: Clock {
  /// A moment, as the time since the clock was made.
  public struct Instant: InstantProtocol {
    public let elapsed: Duration

    public init(elapsed: Duration = .zero) { self.elapsed = elapsed }

    /// Saturates at `Duration.never`.
    public func advanced(by duration: Duration) -> Instant { Instant(elapsed: min(elapsed + duration, .never)) }
    public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
    public static func < (a: Instant, b: Instant) -> Bool { a.elapsed < b.elapsed }
  }

  /// Somebody still sleeps at the end of a test.
  public struct StillSleeping: Error, CustomStringConvertible {
    /// When the sleepers would wake, in order.
    public let deadlines: [Instant]
    public var description: String {
      "\(deadlines.count) still sleeping, until \(deadlines.map { "\($0.elapsed)" }.joined(separator: ", "))"
    }
  }

  fileprivate struct Sleeper {
    let id: Int
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  fileprivate struct State {
    var now = Instant()
    var wallClock: Date
    var nextID = 0
    /// By deadline, then by arrival.
    var sleepers: [Sleeper] = []
    /// By the deadline that somebody waits for.
    var awaited: [Instant: Tally] = [:]
  }

  private let state: Mutex<State>
  private let sleeping = Tally()
  /// The same number below zero, so that zero can be waited for.
  private let awake = Tally()

  /// - Parameter date: what the wall clock shows now; by default 1 January 2026, 0:00 UTC.
  public init(date: Date = Date(timeIntervalSince1970: 1_767_225_600)) { state = Mutex(State(wallClock: date)) }

  public var now: Instant { state.withLock { $0.now } }
  public var minimumResolution: Duration { .zero }

  /// What the wall clock shows.
  public var date: Date { state.withLock { $0.wallClock } }
  /// The wall clock as `ReactorConfiguration.now` takes it.
  public var wallClock: @Sendable () -> Date { { self.date } }
  /// Sets the wall clock back; nobody wakes, and ``now`` stays as it is.
  public func setWallClock(back duration: Duration) { state.withLock { $0.wallClock -= duration.inSeconds } }
  /// Sets the wall clock forward; nobody wakes, and ``now`` stays as it is.
  public func setWallClock(forward duration: Duration) { state.withLock { $0.wallClock += duration.inSeconds } }

  /// Moves both clocks by `duration` and wakes those whose deadline has come. Returns without waiting for them.
  public func advance(by duration: Duration) {
    let due = state.withLock { $0.advance(to: $0.now.advanced(by: max(duration, .zero))) }
    wake(due)
  }

  /// Moves both clocks to `instant`; a moment that has passed changes nothing.
  public func advance(to instant: Instant) {
    let due = state.withLock { $0.advance(to: max(instant, $0.now)) }
    wake(due)
  }

  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        fallAsleep(Sleeper(id: id, deadline: deadline, continuation: continuation))
      }
    } onCancel: {
      guard let sleeper = state.withLock({ $0.take(id) }) else { return }
      count(-1)
      sleeper.continuation.resume(throwing: CancellationError())
    }
  }

  /// Sleeps on where the task is cancelled: for work that cannot be called back.
  func sleepIgnoringCancellation(until deadline: Instant) async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // The continuation throws only for a sleeper that ends when cancelled.
    try? await withCheckedThrowingContinuation { continuation in
      fallAsleep(Sleeper(id: id, deadline: deadline, continuation: continuation), endsWhenCancelled: false)
    }
  }

  /// How many sleep now.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
  /// When the next sleeper wakes; `nil` where nobody sleeps.
  public var nextDeadline: Instant? { state.withLock { $0.sleepers.first?.deadline } }

  /// Returns once at least `count` sleep at the same time.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitForSleepers(count: Int = 1) async throws { try await sleeping.wait(for: count) }

  /// Returns once somebody sleeps until just `deadline`; at once where somebody does.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitForSleeper(until deadline: Instant) async throws {
    let tally = state.withLock { state in
      let tally = state.awaited[deadline] ?? Tally()
      state.awaited[deadline] = tally
      if state.sleepers.contains(where: { $0.deadline == deadline }) { tally.add(1) }
      return tally
    }
    try await tally.wait(for: 1)
    state.withLock { $0.awaited[deadline] = nil }
  }

  /// Returns once nobody sleeps: at once where nobody does.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitUntilNobodySleeps() async throws { try await awake.wait(for: 0) }

  /// Proves that nothing waits on this clock any more: the last line of a test.
  public func checkNobodySleeps() throws(StillSleeping) {
    let deadlines = state.withLock { $0.sleepers.map(\.deadline) }
    if !deadlines.isEmpty { throw StillSleeping(deadlines: deadlines) }
  }

  private func count(_ change: Int) {
    sleeping.add(change)
    awake.add(-change)
  }

  private func fallAsleep(_ sleeper: Sleeper, endsWhenCancelled: Bool = true) {
    let result: Result<Void, any Error>? = state.withLock { state in
      if endsWhenCancelled, Task.isCancelled { return .failure(CancellationError()) }
      if sleeper.deadline <= state.now { return .success(()) }
      state.insert(sleeper)
      return nil
    }
    if let result { return sleeper.continuation.resume(with: result) }
    count(1)
    state.withLock { $0.awaited[sleeper.deadline] }?.add(1)
  }

  private func wake(_ sleepers: [Sleeper]) {
    count(-sleepers.count)
    for sleeper in sleepers { sleeper.continuation.resume() }
  }
}

extension TestClock.State {
  /// Behind those with the same deadline.
  fileprivate mutating func insert(_ sleeper: TestClock.Sleeper) {
    let index = sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? sleepers.endIndex
    sleepers.insert(sleeper, at: index)
  }

  fileprivate mutating func take(_ id: Int) -> TestClock.Sleeper? {
    sleepers.firstIndex { $0.id == id }.map { sleepers.remove(at: $0) }
  }

  fileprivate mutating func advance(to instant: TestClock.Instant) -> [TestClock.Sleeper] {
    wallClock += now.duration(to: instant).inSeconds
    now = instant
    let due = Array(sleepers.prefix { $0.deadline <= instant })
    sleepers.removeFirst(due.count)
    return due
  }
}

extension Duration {
  fileprivate var inSeconds: TimeInterval { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
