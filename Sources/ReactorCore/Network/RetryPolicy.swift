/// How often a request that failed is sent again, and when.
///
/// What may pass is retried: no connection, timed out, and the statuses 408, 425, 429, 500, 502, 503 and 504; for a method that is
/// idempotent (RFC 9110 §9.2.2), a request with an `Idempotency-Key`, and a resource that is read-only.
///
/// The wait before a retry is random, from zero to a ceiling that grows with each (*full jitter*), so that clients that failed
/// together do not come back together. A server's `Retry-After` (RFC 9110 §10.2.3) is waited for, if it is longer.
///
/// Durations count as zero below it, and as a day beyond one.
public struct RetryPolicy: Sendable, Hashable {
  /// Attempts in all, the first included. Default: 3. Below 1 counts as 1.
  public var attempts: Int
  /// The ceiling of the first wait. Default: 500 milliseconds.
  public var firstDelay: Duration
  /// By how much the ceiling grows with each retry. Default: 2. From 1 to 1,000; what is outside counts as the nearer end.
  public var multiplier: Double = 2
  /// The ceiling of any wait. Default: 20 seconds.
  public var longestDelay: Duration = .seconds(20)
  /// The longest `Retry-After` that is waited for. Default: 60 seconds. Where the server asks for more, its answer is the result at once.
  public var longestRetryAfter: Duration = .seconds(60)
  /// How long a retry that is due waits for connectivity. Default: 30 seconds. Then the last failure is the result.
  public var longestOffline: Duration = .seconds(30)
  /// Settles the random numbers. Default: `nil`, others each time.
  public var seed: UInt64?

  public init(attempts: Int = 3, firstDelay: Duration = .milliseconds(500)) {
    self.attempts = attempts
    self.firstDelay = firstDelay
  }

  /// One attempt.
  public static let never = RetryPolicy(attempts: 1)
}
