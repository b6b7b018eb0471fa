public import Foundation
import ReactorCore
import Synchronization

/// A clock that stands still until the test advances it, with a wall clock beside it.
///
/// ```swift
/// let clock = TestClock()
/// configuration.clock = clock
/// configuration.now = clock.wallClock
/// …
/// try await clock.waitForSleeper(for: .seconds(60))   // a task sleeps for a minute
/// clock.advance(by: .seconds(60))                     // and continues
/// ```
///
/// A call of ``advance(by:)`` wakes the tasks that sleep at that moment, in the order of their
/// deadlines, then of their arrival. They continue in that order on a single task executor; on
/// several threads, two of them may swap. A task that sleeps again counts from the new time.
/// Therefore drive a repeated wait one period at a time: advance, ``waitForSleepers(count:)``,
/// advance.
public final class TestClock: Clock {
  /// A moment, as the time since the clock was created.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public let elapsed: Duration

    /// Creates a moment; by default the clock's creation.
    public init(elapsed: Duration = .zero) { self.elapsed = elapsed }

    /// Returns the moment after `duration`, at most `Duration.never`.
    public func advanced(by duration: Duration) -> Instant { Instant(elapsed: min(elapsed + duration, .never)) }
    /// Returns the time from this moment to `other`; negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
    /// Returns a Boolean value that indicates whether `a` is earlier than `b`.
    public static func < (a: Instant, b: Instant) -> Bool { a.elapsed < b.elapsed }
  }

  /// The error for tasks that still sleep at the end of a test.
  public struct StillSleeping: Error, CustomStringConvertible {
    /// The deadlines of the sleepers, in order.
    public let deadlines: [Instant]
    public var description: String {
      "\(deadlines.count) tasks still sleep, until \(deadlines.map { "\($0.elapsed)" }.joined(separator: ", "))"
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
    /// The sleepers, by deadline, then by arrival.
    var sleepers: [Sleeper] = []
    /// A tally of the sleepers of each deadline that a test waits for.
    var awaited: [Instant: Tally] = [:]
  }

  private let state: Mutex<State>
  private let sleeping = Tally()
  /// The negated number of sleepers, so that a test can wait for zero.
  private let awake = Tally()

  /// Creates a clock at the moment zero.
  ///
  /// - Parameter date: The start of the wall clock; by default 1 January 2026, 0:00 UTC.
  public init(date: Date = Date(timeIntervalSince1970: 1_767_225_600)) { state = Mutex(State(wallClock: date)) }

  /// The current moment of the clock.
  public var now: Instant { state.withLock { $0.now } }
  /// The minimum resolution, which is zero.
  public var minimumResolution: Duration { .zero }

  /// The current date of the wall clock.
  public var date: Date { state.withLock { $0.wallClock } }
  /// The wall clock as a closure, for `ReactorConfiguration.now`.
  ///
  /// ```swift
  /// configuration.clock = clock
  /// configuration.now = clock.wallClock
  /// ```
  public var wallClock: @Sendable () -> Date { { self.date } }
  /// Sets the wall clock back. Nothing wakes, and ``now`` does not change.
  ///
  /// ```swift
  /// clock.setWallClock(back: .seconds(3_600))
  /// ```
  public func setWallClock(back duration: Duration) { state.withLock { $0.wallClock -= duration.inSeconds } }
  /// Sets the wall clock forward. Nothing wakes, and ``now`` does not change.
  public func setWallClock(forward duration: Duration) { state.withLock { $0.wallClock += duration.inSeconds } }

  /// Advances both clocks by `duration`, and wakes the sleepers whose deadline has passed. Returns
  /// without waiting for them. A negative duration has no effect.
  ///
  /// ```swift
  /// try await clock.waitForSleepers()
  /// clock.advance(by: .seconds(60))
  /// ```
  public func advance(by duration: Duration) {
    let due = state.withLock { $0.advance(to: $0.now.advanced(by: max(duration, .zero))) }
    wake(due)
  }

  /// Advances both clocks to `instant`. A moment in the past has no effect.
  public func advance(to instant: Instant) {
    let due = state.withLock { $0.advance(to: max(instant, $0.now)) }
    wake(due)
  }

  /// Suspends until the clock has reached `deadline`, at once if it has passed.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
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

  /// Suspends until the clock has reached `deadline`, even if the task is cancelled. For work that
  /// cannot be abandoned.
  package func sleepIgnoringCancellation(until deadline: Instant) async {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    // The continuation throws only for a sleeper that ends when cancelled.
    try? await withCheckedThrowingContinuation { continuation in
      fallAsleep(Sleeper(id: id, deadline: deadline, continuation: continuation), endsWhenCancelled: false)
    }
  }

  /// The number of tasks that sleep.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
  /// The deadline of the next sleeper; `nil` if no task sleeps.
  public var nextDeadline: Instant? { state.withLock { $0.sleepers.first?.deadline } }

  /// Returns once at least `count` tasks sleep at the same time, for any duration.
  ///
  /// A layer on this clock sleeps too: until its next poll, until an unused model is evicted
  /// (`ReactorConfiguration.keepUnusedFor`), until a retry. To wait for your own sleeper, such as a
  /// debounce of 300 milliseconds, use ``waitForSleeper(for:)``.
  ///
  /// ```swift
  /// try await clock.waitForSleepers(count: 2)
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForSleepers(count: Int = 1) async throws { try await sleeping.wait(for: count) }

  /// Returns once a task sleeps until exactly `duration` from now, at once if one does. Other
  /// sleepers, such as a layer's, do not count.
  ///
  /// ```swift
  /// model.query = "swift"
  /// try await clock.waitForSleeper(for: .milliseconds(300))   // the debounce
  /// clock.advance(by: .milliseconds(300))
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForSleeper(for duration: Duration) async throws {
    try await waitForSleeper(until: now.advanced(by: duration))
  }

  /// Returns once a task sleeps until exactly `deadline`, at once if one does.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
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

  /// Returns once no task sleeps, at once if none does.
  ///
  /// ```swift
  /// clock.advance(by: .seconds(30))
  /// try await clock.waitUntilNobodySleeps()
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilNobodySleeps() async throws { try await awake.wait(for: 0) }

  /// Checks that no task sleeps on this clock. Call it at the end of a test.
  ///
  /// ```swift
  /// try clock.checkNobodySleeps()
  /// ```
  ///
  /// - Throws: ``StillSleeping``, with the deadlines.
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
  /// Inserts a sleeper after the ones with the same deadline.
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
