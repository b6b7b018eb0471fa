import Foundation
import HTTPTypes
import Synchronization

/// Retries failed requests as a ``RetryPolicy`` decides.
///
/// The flow of a backend creates its own from ``ReactorConfiguration/retry``. This one is for a
/// ``Backend`` that is used without a flow. Put it first, so that each attempt passes the other
/// middlewares.
///
/// A cancelled task stops a wait at once. Without connectivity, a retry that is due waits for it,
/// for as long as the policy allows. A retry to a loopback host does not wait.
struct RetryMiddleware: TransportMiddleware {
  private let policy: RetryPolicy
  private let shouldRetry: (@Sendable (RetryPolicy.FailedAttempt) -> Bool)?
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  private let reachability: any Reachability
  private let generator: SplitMix64

  /// Creates a middleware with a policy.
  ///
  /// - Parameters:
  ///   - clock: the clock behind the waits.
  ///   - now: the wall clock, for a date in `Retry-After`.
  init(
    _ policy: RetryPolicy = RetryPolicy(), shouldRetry: (@Sendable (RetryPolicy.FailedAttempt) -> Bool)? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Date = { Date() }, reachability: any Reachability = .always
  ) {
    self.policy = policy
    self.shouldRetry = shouldRetry
    self.clock = clock
    self.now = now
    self.reachability = reachability
    generator = SplitMix64(seed: policy.seed ?? .random(in: 0 ... .max))
  }

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    try await attempts(request) { try await next(request, body) }
  }

  /// A pause between two attempts.
  enum Pause: Sendable {
    /// The wait before `attempt`. The reason holds no secret.
    case backingOff(attempt: Int, after: Duration, reason: String)
    /// The wait for connectivity.
    case offline
  }

  /// Calls `send` until the policy accepts its outcome as the result.
  ///
  /// - Parameters:
  ///   - isReadOnly: the setting of the resource; `nil` if the method decides.
  ///   - mayRetry: `false` for a single attempt, whatever the policy is.
  ///   - observe: called at the start of each wait.
  func attempts<Body: Sendable>(
    _ request: HTTPRequest, isReadOnly: Bool? = nil, mayRetry: Bool = true, observe: (Pause) -> Void = { _ in },
    send: () async throws -> (HTTPResponse, Body)
  ) async throws -> (HTTPResponse, Body) {
    var attempt = 1
    while true {
      let outcome = await outcome(send)
      guard mayRetry, case .retry(let delay) = decision(attempt, request, isReadOnly, outcome.map(\.0)) else {
        return try outcome.get()
      }
      try Task.checkCancellation()
      attempt += 1
      observe(.backingOff(attempt: attempt, after: delay, reason: Self.reason(outcome.map(\.0))))
      try await clock.sleep(for: delay)
      guard try await isConnected(for: request, observe) else { return try outcome.get() }
    }
  }

  private func outcome<Body: Sendable>(
    _ send: () async throws -> (HTTPResponse, Body)
  ) async -> Result<(HTTPResponse, Body), any Error> {
    do { return .success(try await send()) } catch { return .failure(error) }
  }

  private func decision(
    _ attempt: Int, _ request: HTTPRequest, _ isReadOnly: Bool?, _ outcome: Result<HTTPResponse, any Error>
  ) -> RetryDecision {
    var generator = generator
    return policy.decision(
      after: attempt, of: request, isReadOnly: isReadOnly, outcome: outcome, shouldRetry: shouldRetry, now: now(),
      random: .random(in: 0...1, using: &generator))
  }

  private static func reason(_ outcome: Result<HTTPResponse, any Error>) -> String {
    switch outcome {
    case .success(let response): "status \(response.status.code)"
    case .failure(let error): ReactorError(error, wrap: ReactorError.network).reason
    }
  }
}

extension RetryMiddleware {
  /// Waits for connectivity. Returns `false` if that takes longer than the policy allows.
  private func isConnected(for request: HTTPRequest, _ observe: (Pause) -> Void) async throws -> Bool {
    if request.url.flatMap(WebOrigin.init)?.isLoopback == true || reachability.isReachable { return true }
    observe(.offline)
    return try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await isReachable in reachability.changes where isReachable { return true }
        // The stream has ended and reports no more changes.
        try Task.checkCancellation()
        return false
      }
      group.addTask {
        try await clock.sleep(for: policy.longestOffline.upToADay)
        return false
      }
      defer { group.cancelAll() }
      return try await group.next() ?? false
    }
  }
}

/// A generator of random numbers that its seed determines, usable from any thread (Steele, Lea and
/// Flood, *Fast splittable pseudorandom number generators*, 2014).
package final class SplitMix64: RandomNumberGenerator, Sendable {
  private let state: Atomic<UInt64>

  package init(seed: UInt64) { state = Atomic(seed) }

  package func next() -> UInt64 {
    var bits = state.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}

extension RetryMiddleware {
  init(_ configuration: ReactorConfiguration, _ reachability: any Reachability) {
    self.init(
      configuration.retry, shouldRetry: configuration.shouldRetry, clock: configuration.clock, now: configuration.now,
      reachability: configuration.checksReachability ? reachability : .always)
  }
}
