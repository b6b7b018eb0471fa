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
  /// Whether a signal asks for one run; otherwise it holds until the next signal.
  let isEvent: Bool
  let interval: Duration
  let clock: any Clock<Duration>

  public func makeAsyncIterator() -> Iterator {
    // Without a second run, nobody needs to know whether it is wanted.
    let demand = interval < .never ? Demand(signals, isWanted: isWanted) : nil
    return Iterator(sequence: base, isEvent: isEvent, pace: Pace(interval: interval, clock: clock), demand: demand)
  }

  public struct Iterator: AsyncIteratorProtocol {
    let sequence: Base
    let isEvent: Bool
    var pace: Pace
    /// `nil` where this run is the last.
    var demand: Demand?
    /// `nil` between two runs.
    private var run: Base.AsyncIterator?
    private var hasBegun = false

    init(sequence: Base, isEvent: Bool, pace: Pace, demand: Demand?) {
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
    private mutating func isDue(_ demand: Demand, isolation actor: isolated (any Actor)?) async -> Bool {
      // A run may have become unwanted during the pause.
      repeat {
        guard await demand.wait(), await pace.wait() else { return false }
      } while !demand.isWanted
      return !Task.isCancelled
    }
  }
}

extension Repeated: Sendable where Base: Sendable {}
