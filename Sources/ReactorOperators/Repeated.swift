import ReactorCore
import Synchronization

extension AsyncSequence {
  /// Returns a sequence that runs this sequence at once, and again from its start after each
  /// trigger.
  ///
  /// ```swift
  /// let posts = fetches.repeated(on: becameActive, throttle: .seconds(30))
  /// ```
  ///
  /// Runs never overlap. Triggers during a run, or less than `throttle` after its start, lead to
  /// one more run later. A sequence that does not end is therefore not repeated.
  ///
  /// `triggers` is followed from `makeAsyncIterator()` until the iterator ends. Triggers that can
  /// be iterated only once, such as an `AsyncStream`, repeat the first iteration only.
  ///
  /// The result fails when a run fails. It ends when a run has ended and no trigger can come. When
  /// its task is cancelled, the run in progress is cancelled and a wait ends at once. Runs on the
  /// caller's executor.
  ///
  /// - Parameters:
  ///   - triggers: The sequence whose elements start a run.
  ///   - throttle: The shortest time from the start of one run to the start of the next. With zero
  ///     or less, there is no throttle. With `Duration.never` or more, the sequence runs once.
  ///   - clock: The clock that measures `throttle`.
  public func repeated<Triggers: AsyncSequence & Sendable>(
    on triggers: Triggers, throttle: Duration = .zero, clock: any Clock<Duration> = ContinuousClock()
  ) -> Repeated<Self, Triggers> where Triggers.Failure == Never {
    Repeated(base: self, signals: triggers, isWanted: { _ in true }, isEvent: true, interval: throttle, clock: clock)
  }
}

/// A sequence that runs repeatedly; see ``_Concurrency/AsyncSequence/repeated(on:throttle:clock:)``
/// and ``_Concurrency/AsyncSequence/reloadPeriodically(every:while:clock:)``.
public struct Repeated<Base: AsyncSequence, Signals: AsyncSequence & Sendable>: AsyncSequence
where Signals.Failure == Never {
  public typealias Element = Base.Element
  public typealias Failure = Base.Failure

  let base: Base
  let signals: Signals
  let isWanted: @Sendable (Signals.Element) -> Bool
  /// A Boolean value that indicates whether each signal requests one run. Otherwise it is a
  /// condition that holds until the next signal.
  let isEvent: Bool
  let interval: Duration
  let clock: any Clock<Duration>

  public func makeAsyncIterator() -> Iterator {
    // Without a second run, the signals do not matter.
    let demand = interval < .never ? TriggerState(signals, isWanted: isWanted) : nil
    return Iterator(sequence: base, isEvent: isEvent, pace: Throttle(interval: interval, clock: clock), demand: demand)
  }

  /// An iterator that runs the base sequence repeatedly, and follows the signals until it ends.
  public struct Iterator: AsyncIteratorProtocol {
    let sequence: Base
    let isEvent: Bool
    var pace: Throttle
    /// The demand for further runs; `nil` if this run is the last.
    var demand: TriggerState?
    /// The run in progress; `nil` between two runs.
    private var run: Base.AsyncIterator?
    private var hasBegun = false

    init(sequence: Base, isEvent: Bool, pace: Throttle, demand: TriggerState?) {
      self.sequence = sequence
      self.isEvent = isEvent
      self.pace = pace
      self.demand = demand
    }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Base.Element? {
      if !hasBegun { begin() }
      do throws(Base.Failure) {
        while true {
          if let element = try await run?.next(isolation: actor) { return element }
          run = nil
          guard let demand, await isDue(demand, isolation: actor) else { break }
          begin()
        }
      } catch {
        end()
        throw error
      }
      end()
      return nil
    }

    private mutating func begin() {
      hasBegun = true
      if isEvent { demand?.clear() }
      pace.begin()
      run = sequence.makeAsyncIterator()
    }

    private mutating func end() {
      run = nil
      demand = nil
    }

    /// Waits until the next run may start; returns `false` if there will be no further run.
    private mutating func isDue(_ demand: TriggerState, isolation actor: isolated (any Actor)?) async -> Bool {
      // The run may have become unwanted during the pause.
      repeat {
        guard await demand.wait(), await pace.wait() else { return false }
      } while !demand.isWanted
      return !Task.isCancelled
    }
  }
}

extension Repeated: Sendable where Base: Sendable {}

extension AsyncSequence {
  /// Returns a sequence that runs this sequence at once, and again every `interval` while the
  /// latest of `conditions` is true. A typical condition is that the screen is visible.
  ///
  /// ```swift
  /// let states = stories.fetches("stories", policy: .networkOnly).loadStates()
  ///   .reloadPeriodically(every: .seconds(30), while: visibility)
  /// ```
  ///
  /// Runs never overlap. The interval counts from the start of one run to the start of the next. A
  /// run that falls due while the condition is false, or while another run takes longer, starts as
  /// soon as it may, and only once. Returning to a screen therefore reloads at once if the last run
  /// is older than the interval, and a condition that flickers does not reload more often. After
  /// the condition becomes false, at most the current pause is slept out.
  ///
  /// `conditions` is followed from `makeAsyncIterator()` on. Before its first element the condition
  /// is false, and after its end it keeps its last value. Conditions that can be iterated only
  /// once, such as an `AsyncStream`, reload the first iteration only.
  ///
  /// The result fails when a run fails. To continue after failures, apply
  /// ``_Concurrency/AsyncSequence/ignoringErrors(replacement:)`` or
  /// ``_Concurrency/AsyncSequence/loadStates()`` first. It ends when a run has ended and none can
  /// follow. When its task is cancelled, the run in progress is cancelled and a wait ends at once.
  /// Runs on the caller's executor.
  ///
  /// - Parameters:
  ///   - interval: The time from the start of one run to the start of the next. With zero or less,
  ///     or with `Duration.never` or more, the sequence runs once.
  ///   - conditions: The sequence of conditions.
  ///   - clock: The clock that measures `interval`.
  public func reloadPeriodically<Conditions: AsyncSequence & Sendable>(
    every interval: Duration, while conditions: Conditions, clock: any Clock<Duration> = ContinuousClock()
  ) -> Repeated<Self, Conditions> where Conditions.Element == Bool, Conditions.Failure == Never {
    Repeated(
      base: self, signals: conditions, isWanted: { $0 }, isEvent: false,
      interval: interval > .zero ? interval : .never, clock: clock)
  }
}

/// The demand for another run: follows the sequence of signals until it is released.
final class TriggerState: Sendable {
  private let state = TriggerStorage()
  private let task: Task<Void, Never>

  init<Signals: AsyncSequence & Sendable>(_ signals: Signals, isWanted: @escaping @Sendable (Signals.Element) -> Bool)
  where Signals.Failure == Never {
    // Made before the task, so that no signal is missed in between.
    let iterator = SendingBox(signals.makeAsyncIterator())
    // The task retains the state, not this object, so that releasing the object ends the task.
    task = spawn(on: nil, for: LockOwner.current) { [state] in
      if var iterator = iterator.take() {
        while !Task.isCancelled, let signal = await iterator.next(isolation: nil) { state.set(isWanted(signal)) }
      }
      state.end()
    }
  }

  deinit { task.cancel() }

  /// A Boolean value that indicates whether a run is wanted now.
  var isWanted: Bool { state.isWanted }

  /// Discards the demand that has accumulated.
  func clear() { state.set(false) }

  /// Waits until a run is wanted; returns `false` if none will follow, because the sequence has
  /// ended or the task is cancelled.
  func wait() async -> Bool { await state.wait() }
}

private final class TriggerStorage: Sendable {
  private struct State {
    var isWanted = false
    var hasEnded = false
    var isCancelled = false
    var waiter: CheckedContinuation<Bool, Never>?

    /// The result for a waiter; `nil` if it has to wait.
    var answer: Bool? {
      if isCancelled { return false }
      if isWanted { return true }
      return hasEnded ? false : nil
    }
  }

  private let state = Mutex(State())

  var isWanted: Bool { state.withLock(\.isWanted) }

  func set(_ isWanted: Bool) { change { $0.isWanted = isWanted } }
  func end() { change { $0.hasEnded = true } }

  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state in
          if state.answer == nil { state.waiter = continuation }
          return state.answer
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      change { $0.isCancelled = true }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let (waiter, answer) = state.withLock { state in
      body(&state)
      guard let answer = state.answer else { return (CheckedContinuation<Bool, Never>?.none, false) }
      return (state.waiter.take(), answer)
    }
    waiter?.resume(returning: answer)
  }
}

/// Enforces the interval between the starts of runs.
struct Throttle {
  private let interval: Duration
  private let clock: any Clock<Duration>
  /// The time since the run started.
  private var elapsed: @Sendable () -> Duration = { .zero }

  /// Creates a throttle.
  ///
  /// - Parameter interval: The interval, at most 100 years, since a later instant would overflow
  ///   some clocks.
  init(interval: Duration, clock: any Clock<Duration>) {
    self.interval = min(max(interval, .zero), .seconds(100 * 365 * 86_400))
    self.clock = clock
  }

  mutating func begin() { elapsed = clock.stopwatch() }

  /// Waits until the interval has passed since the start of the run; returns `false` if the task is
  /// cancelled.
  mutating func wait() async -> Bool {
    while true {
      // If the clock was set back, the interval restarts, so that no wait is longer than the
      // interval.
      if elapsed() < .zero { begin() }
      let rest = interval - elapsed()
      guard rest > .zero else { return !Task.isCancelled }
      do { try await clock.sleep(for: rest) } catch { return false }
    }
  }
}
