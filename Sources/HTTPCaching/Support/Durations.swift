extension Duration {
  /// A duration longer than any wait. As `freshFor`, data never becomes stale; as `keepUnusedFor`,
  /// it is never evicted for its age.
  public static let never: Duration = .seconds(Int64.max)

  /// The duration in seconds. ``never`` is infinity, and its negative is negative infinity.
  @inlinable package var inSeconds: Double {
    // Beyond these limits, `components` overflows.
    if self >= .never { return .infinity }
    if self <= .zero - .never { return -.infinity }
    let parts = components
    return Double(parts.seconds) + Double(parts.attoseconds) / 1e18
  }

  /// Creates a duration from seconds, limited to zero through ``never``. A NaN is zero.
  package init(saturatingSeconds seconds: Double) {
    if seconds >= Double(Int64.max) {
      self = .never
    } else if seconds > 0 {
      self = .seconds(seconds)
    } else {
      self = .zero
    }
  }

  /// Returns the sum, at most ``never``.
  package func saturatingAdd(_ other: Duration) -> Duration {
    self < .never && other < .never ? min(self + other, .never) : .never
  }
}

extension Clock<Duration> {
  /// Starts to measure time, and returns a function that returns the time since then.
  package func stopwatch() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }

  /// Starts to measure time. The first function returns the time since then, and the second sleeps
  /// until such a time.
  package func timeline() -> (elapsed: @Sendable () -> Duration, sleep: @Sendable (Duration) async throws -> Void) {
    let start = now
    return ({ start.duration(to: now) }, { try await sleep(until: start.advanced(by: $0), tolerance: nil) })
  }
}
