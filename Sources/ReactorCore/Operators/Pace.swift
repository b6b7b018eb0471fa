/// Keeps the beginnings of runs apart.
struct Pace {
  private let interval: Duration
  private let clock: any Clock<Duration>
  /// Since the run began.
  private var elapsed: @Sendable () -> Duration = { .zero }

  /// - Parameter interval: capped at 100 years, since an instant beyond what a clock can count to would trap.
  init(interval: Duration, clock: any Clock<Duration>) {
    self.interval = min(max(interval, .zero), .seconds(100 * 365 * 86_400))
    self.clock = clock
  }

  mutating func begin() { elapsed = Self.stopwatch(clock) }

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

  private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
