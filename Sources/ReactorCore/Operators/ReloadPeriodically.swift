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
