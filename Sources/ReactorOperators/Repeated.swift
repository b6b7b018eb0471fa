import ReactorCore
import Synchronization

extension AsyncSequence {
  /// This sequence, run again from its beginning whenever `triggers` gives an element.
  ///
  /// ```swift
  /// let posts = fetches.repeated(on: becameActive, throttle: .seconds(30))
  /// ```
  ///
  /// It runs at once, without a trigger. Runs never overlap: what triggers while one is under way, or less than `throttle` after it
  /// began, leads to one more run, later; so a sequence that does not end is not repeated. `triggers` is followed from
  /// `makeAsyncIterator()` on, until the end of the iterator. Triggers that can be iterated only once, as an `AsyncStream`, repeat the
  /// first iteration alone.
  ///
  /// - Parameters:
  ///   - throttle: the least time from the beginning of one run to that of the next, on `clock`. Of zero or less: none. Of
  ///     `Duration.never` or more: it runs once.
  ///
  /// It ends when the run has ended and no trigger can come, and fails with the run; after that it does not run again. When its
  /// task is cancelled, the run under way is, and a wait ends at once. Runs on the caller's executor.
  public func repeated<Triggers: AsyncSequence & Sendable>(
    on triggers: Triggers, throttle: Duration = .zero, clock: any Clock<Duration> = ContinuousClock()
  ) -> Repeated<Self, Triggers> where Triggers.Failure == Never {
    Repeated(base: self, signals: triggers, isWanted: { _ in true }, isEvent: true, interval: throttle, clock: clock)
  }
}

/// A sequence that runs again and again; see ``_Concurrency/AsyncSequence/repeated(on:throttle:clock:)`` and
/// ``_Concurrency/AsyncSequence/reloadPeriodically(every:while:clock:)``.
public struct Repeated<Base: AsyncSequence, Signals: AsyncSequence & Sendable>: AsyncSequence
where Signals.Failure == Never {
  public typealias Element = Base.Element
  public typealias Failure = Base.Failure

  let base: Base
  let signals: Signals
  let isWanted: @Sendable (Signals.Element) -> Bool
  /// A Boolean value that indicates whether a signal asks for one run; otherwise it holds until the
  /// next signal.
  let isEvent: Bool
  let interval: Duration
  let clock: any Clock<Duration>

  public func makeAsyncIterator() -> Iterator {
    // Without a second run, nobody needs to know whether it is wanted.
    let demand = interval < .never ? TriggerState(signals, isWanted: isWanted) : nil
    return Iterator(sequence: base, isEvent: isEvent, pace: Throttle(interval: interval, clock: clock), demand: demand)
  }

  public struct Iterator: AsyncIteratorProtocol {
    let sequence: Base
    let isEvent: Bool
    var pace: Throttle
    /// `nil` where this run is the last.
    var demand: TriggerState?
    /// `nil` between two runs.
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

    /// Returns once the next run may begin; `false` where it never may.
    private mutating func isDue(_ demand: TriggerState, isolation actor: isolated (any Actor)?) async -> Bool {
      // A run may have become unwanted during the pause.
      repeat {
        guard await demand.wait(), await pace.wait() else { return false }
      } while !demand.isWanted
      return !Task.isCancelled
    }
  }
}

extension Repeated: Sendable where Base: Sendable {}

extension AsyncSequence {
  /// This sequence, run again every `interval` while the latest of `conditions` is true: on screen, say, and not in low-power mode.
  ///
  /// It runs at once, whatever the condition. Runs never overlap; the interval counts from the beginning of one to the beginning of
  /// the next. What falls due while the condition is false, or a run takes longer, is done as soon as it may be, once: so coming
  /// back to a screen reloads at once what is older than the interval, and a condition that flickers does not reload more often.
  /// While the condition is false at most the pause that had begun is slept out. `conditions` is followed from
  /// `makeAsyncIterator()` on; before its first element it is false, and after its end it stays what it was. Conditions that can be
  /// iterated only once, as an `AsyncStream`, reload the first iteration alone.
  ///
  /// - Parameters:
  ///   - interval: on `clock`. Of zero or less, and of `Duration.never` or more, it runs once.
  ///
  /// It ends when the run has ended and none can follow, and fails with the run: put
  /// ``_Concurrency/AsyncSequence/ignoringErrors(replacement:)`` or ``_Concurrency/AsyncSequence/loadStates()`` before it so that it
  /// goes on. When its task is cancelled, the run under way is, and a wait ends at once. Runs on the caller's executor.
  public func reloadPeriodically<Conditions: AsyncSequence & Sendable>(
    every interval: Duration, while conditions: Conditions, clock: any Clock<Duration> = ContinuousClock()
  ) -> Repeated<Self, Conditions> where Conditions.Element == Bool, Conditions.Failure == Never {
    Repeated(
      base: self, signals: conditions, isWanted: { $0 }, isEvent: false,
      interval: interval > .zero ? interval : .never, clock: clock)
  }
}

/// Follows a sequence that says whether another run is wanted, for as long as this object lives.
final class TriggerState: Sendable {
  private let state = TriggerStorage()
  private let task: Task<Void, Never>

  init<Signals: AsyncSequence & Sendable>(_ signals: Signals, isWanted: @escaping @Sendable (Signals.Element) -> Bool)
  where Signals.Failure == Never {
    // Made here, so that what is signalled from now on is not missed.
    let iterator = SendingBox(signals.makeAsyncIterator())
    // The task holds the state, not this object, so that it ends with this object.
    task = spawn(on: nil, for: LockOwner.current) { [state] in
      if var iterator = iterator.take() {
        while !Task.isCancelled, let signal = await iterator.next(isolation: nil) { state.set(isWanted(signal)) }
      }
      state.end()
    }
  }

  deinit { task.cancel() }

  /// A Boolean value that indicates whether one is wanted now.
  var isWanted: Bool { state.isWanted }

  /// Marks the run that was wanted until now as done.
  func clear() { state.set(false) }

  /// Returns once a run is wanted; `false` where none will be: the sequence has ended, or the task is cancelled.
  func wait() async -> Bool { await state.wait() }
}

private final class TriggerStorage: Sendable {
  private struct State {
    var isWanted = false
    var hasEnded = false
    var isCancelled = false
    var waiter: CheckedContinuation<Bool, Never>?

    /// The result for a waiter now; `nil`: it waits.
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

/// Keeps the beginnings of runs apart.
struct Throttle {
  private let interval: Duration
  private let clock: any Clock<Duration>
  /// Since the run began.
  private var elapsed: @Sendable () -> Duration = { .zero }

  /// - Parameter interval: capped at 100 years, since an instant beyond what a clock can count to would trap.
  init(interval: Duration, clock: any Clock<Duration>) {
    self.interval = min(max(interval, .zero), .seconds(100 * 365 * 86_400))
    self.clock = clock
  }

  mutating func begin() { elapsed = clock.stopwatch() }

  /// Returns once the interval has passed since the run began; `false` where the task is cancelled.
  mutating func wait() async -> Bool {
    while true {
      // On a clock that was set back the run begins to count anew, so that the wait is no longer than the interval.
      if elapsed() < .zero { begin() }
      let rest = interval - elapsed()
      guard rest > .zero else { return !Task.isCancelled }
      do { try await clock.sleep(for: rest) } catch { return false }
    }
  }
}

/// Passes a value to the one task that takes it.
final class SendingBox<Value>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: sending Value) { self.value = Mutex(value) }

  func take() -> sending Value? { value.withLock { $0.take() } }
}
