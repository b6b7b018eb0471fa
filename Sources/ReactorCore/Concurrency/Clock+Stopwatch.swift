extension Clock<Swift.Duration> {
  /// Begins to measure; the function returns the time since then.
  package func stopwatch() -> @Sendable () -> Swift.Duration {
    let start = now
    return { start.duration(to: now) }
  }
}
