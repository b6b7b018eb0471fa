extension Duration {
  /// Longer than any wait: as `freshFor`, never stale; as `keepUnusedFor`, never evicted for age.
  public static let never: Duration = .seconds(Int64.max)

  /// In seconds; saturates, and ``never`` is infinity.
  @inlinable package var inSeconds: Double {
    // Beyond these, the components overflow.
    if self >= .never { return .infinity }
    if self <= .zero - .never { return -.infinity }
    return Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  /// From seconds; saturates at zero and ``never``, and a value that is no number is zero.
  package init(saturatingSeconds seconds: Double) {
    if seconds >= Double(Int64.max) {
      self = .never
    } else if seconds > 0 {
      self = .seconds(seconds)
    } else {
      self = .zero
    }
  }

  /// The sum, at most ``never``.
  package func saturatingAdd(_ other: Duration) -> Duration {
    self < .never && other < .never ? min(self + other, .never) : .never
  }
}

extension Clock<Duration> {
  /// Begins to measure; the function returns the time since then.
  package func stopwatch() -> @Sendable () -> Duration {
    let start = now
    return { start.duration(to: now) }
  }
}
