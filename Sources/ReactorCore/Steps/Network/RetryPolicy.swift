package import Foundation
public import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The number and the timing of retries for a failed request.
///
/// ```swift
/// configuration.retry = RetryPolicy(attempts: 5, firstDelay: .seconds(1))
/// configuration.retry.longestOffline = .seconds(10)
/// ```
///
/// Transient failures are retried: a missing or lost connection, a timeout, and the statuses 408,
/// 425, 429, 500, 502, 503 and 504. The request must be safe to repeat: its method is idempotent
/// (RFC 9110 §9.2.2), it has an `Idempotency-Key`, or its resource is read-only.
///
/// The wait before a retry is random, from zero to a ceiling that grows with each retry (*full
/// jitter*), so that clients that failed together do not retry together. A longer `Retry-After` of
/// the server is respected (RFC 9110 §10.2.3).
///
/// Negative durations count as zero, and durations beyond a day as a day.
public struct RetryPolicy: Sendable, Hashable {
  /// The number of attempts, including the first. Default: 3. A value below 1 counts as 1.
  public var attempts: Int
  /// The ceiling of the first wait. Default: 500 milliseconds.
  public var firstDelay: Duration
  /// The factor by which the ceiling grows with each retry. Default: 2. Values outside of 1 to
  /// 1,000 count as the nearer bound.
  public var multiplier: Double = 2
  /// The ceiling of any wait. Default: 20 seconds.
  public var longestDelay: Duration = .seconds(20)
  /// The longest `Retry-After` that is respected. Default: 60 seconds. If the server asks for more,
  /// its response is the result at once.
  public var longestRetryAfter: Duration = .seconds(60)
  /// A Boolean value that indicates whether the server's `RateLimit` field is followed
  /// (draft-ietf-httpapi-ratelimit-headers-10). Default: `true`.
  ///
  /// While a limit is used up, the polls of streams, and retries, wait until the server says that
  /// more requests are available. `Retry-After` takes precedence. A reset later than
  /// ``longestRetryAfter`` is ignored; after a 429, the response is then the result. A fetch is
  /// never held back.
  public var followsRateLimit: Bool = true
  /// The longest wait for connectivity before a retry that is due. Default: 30 seconds. After that,
  /// the last failure is the result.
  public var longestOffline: Duration = .seconds(30)
  /// The seed of the random waits. Default: `nil`, a random seed.
  public var seed: UInt64?

  /// Creates a policy. The other properties have their default values.
  public init(attempts: Int = 3, firstDelay: Duration = .milliseconds(500)) {
    self.attempts = attempts
    self.firstDelay = firstDelay
  }

  /// The policy of a single attempt.
  public static let never = RetryPolicy(attempts: 1)
}

extension RetryPolicy {
  /// A failed attempt of a request; see ``ReactorConfiguration/shouldRetry``.
  ///
  /// ```swift
  /// configuration.shouldRetry = { $0.isTransient || $0.status == .conflict }
  /// ```
  public struct FailedAttempt: Sendable {
    /// The request as it was sent, without the fields that middlewares add.
    public let request: HTTPRequest
    /// The number of the attempt, from 1.
    public let number: Int
    /// The response with an unsuccessful status, or the error.
    public let outcome: Result<HTTPResponse, any Error>
    /// The status of the response; `nil` if no response arrived.
    public var status: HTTPResponse.Status? { try? outcome.get().status }
    /// A Boolean value that indicates whether ``RetryPolicy`` retries such a failure.
    public var isTransient: Bool { RetryPolicy.mayPass(outcome) }

    /// Creates an attempt, for a test of a closure.
    public init(request: HTTPRequest, number: Int, outcome: Result<HTTPResponse, any Error>) {
      self.request = request
      self.number = number
      self.outcome = outcome
    }
  }
}

extension RetryPolicy.FailedAttempt: CustomStringConvertible, CustomReflectable {
  /// The number of the attempt, the request and the failure, without header fields and query.
  public var description: String {
    let failure = status.map { "status \($0.code)" }
    let path = request.path?.prefix { $0 != "?" } ?? ""
    return "attempt \(number) of \(request.method.rawValue) \(path): \(failure ?? "no response")"
  }
  /// Only the description, so that `dump` shows no secret.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The decision after an attempt.
enum RetryDecision: Sendable, Hashable {
  case retry(after: Duration)
  /// Stop: the outcome of the attempt is the result.
  case giveUp
}

extension RetryPolicy {
  /// Returns the decision after an attempt.
  ///
  /// - Parameters:
  ///   - attempt: the number of the attempt, from 1.
  ///   - isReadOnly: the setting of the resource; `nil` if the method decides.
  ///   - shouldRetry: the decision on the failure; `nil` for the policy's own.
  ///   - random: the position of the wait between zero and its ceiling, in 0...1.
  func decision(
    after attempt: Int, of request: HTTPRequest, isReadOnly: Bool?, outcome: Result<HTTPResponse, any Error>,
    shouldRetry: ((RetryPolicy.FailedAttempt) -> Bool)? = nil, now: Date, random: Double
  ) -> RetryDecision {
    guard attempt < attempts, Self.isRepeatable(request, isReadOnly: isReadOnly), Self.hasFailed(outcome),
      shouldRetry?(RetryPolicy.FailedAttempt(request: request, number: attempt, outcome: outcome))
        ?? Self.mayPass(outcome)
    else { return .giveUp }
    let delay = Duration(saturatingSeconds: ceiling(attempt) * random)
    guard case .success(let response) = outcome else { return .retry(after: delay) }
    if let asked = RetryAfter.delay(in: response.headerFields, now: now) {
      return asked <= longestRetryAfter.upToADay ? .retry(after: max(asked, delay)) : .giveUp
    }
    guard followsRateLimit, let pause = Resource.RateLimit.pause(in: response.headerFields) else {
      return .retry(after: delay)
    }
    // Later by the random delay: all clients of the limit come back when it is reset.
    if pause <= longestRetryAfter.upToADay { return .retry(after: pause + delay) }
    // Another failure says nothing of the limit, which its request may just have used up.
    return response.status == .tooManyRequests ? .giveUp : .retry(after: delay)
  }

  /// Returns the wait after `attempt`.
  ///
  /// - Parameter random: the position of the wait between zero and its ceiling, in 0...1.
  package func delay(after attempt: Int, random: Double) -> Duration {
    Duration(saturatingSeconds: ceiling(attempt) * random)
  }

  /// Returns the wait that `Retry-After` asks for; `nil` if the field is missing or invalid.
  package static func retryAfter(in fields: HTTPFields, now: Date) -> Duration? {
    RetryAfter.delay(in: fields, now: now)
  }

  /// Returns the wait before the next poll that a response asks for; `nil` for none. A wait of more
  /// than ``longestRetryAfter`` is ignored. Unless there is a ``seed``, the wait is up to a tenth
  /// longer, since all clients of a limit come back when it is reset.
  ///
  /// - Parameter failedAt: The present time, if the response is an error: its `Retry-After` counts.
  func pollingPause(after fields: HTTPFields, failedAt: Date? = nil) -> Duration? {
    let asked = failedAt.flatMap { RetryAfter.delay(in: fields, now: $0) }
    let limit = followsRateLimit ? Resource.RateLimit.pause(in: fields) : nil
    guard let pause = asked ?? limit, pause > .zero, pause <= longestRetryAfter.upToADay else { return nil }
    return seed == nil ? pause * .random(in: 1...1.1) : pause
  }

  /// Returns the ceiling of the wait after `attempt`, in seconds.
  private func ceiling(_ attempt: Int) -> Double {
    let first = firstDelay.upToADay.inSeconds
    let longest = longestDelay.upToADay.inSeconds
    guard first > 0 else { return 0 }
    // `max` comes first, so that NaN counts as 1.
    let grown = first * pow(min(max(1, multiplier), 1_000), Double(max(attempt, 1) - 1))
    return min(grown, longest)
  }

  /// Returns `true` for an error, and for a status that is neither a success nor a 304. A
  /// cancellation is the caller's wish and no failure.
  private static func hasFailed(_ outcome: Result<HTTPResponse, any Error>) -> Bool {
    switch outcome {
    case .success(let response): response.status.kind != .successful && response.status != .notModified
    case .failure(is CancellationError), .failure(ReactorError.cancelled): false
    case .failure: true
    }
  }

  /// Returns `true` if a repeated request has the effect of a single one.
  private static func isRepeatable(_ request: HTTPRequest, isReadOnly: Bool?) -> Bool {
    if let key = HTTPField.Name("Idempotency-Key"), request.headerFields.contains(key) { return true }
    switch request.method {
    case .get, .head, .query, .options, .trace: return isReadOnly ?? true
    case .put, .delete: return true
    default: return isReadOnly ?? false
    }
  }

  /// Returns `true` for a failure that may be transient.
  package static func mayPass(_ outcome: Result<HTTPResponse, any Error>) -> Bool {
    switch outcome {
    case .success(let response): [408, 425, 429, 500, 502, 503, 504].contains(response.status.code)
    case .failure(ReactorError.noConnectivity), .failure(ReactorError.timedOut): true
    case .failure(ReactorError.network(let cause)): mayPass(.failure(cause))
    // Of a request that a middleware has sent, as for another credential.
    case .failure(ReactorError.server(let response, _)): mayPass(.success(response))
    case .failure(TransportError.connectionFailed), .failure(TransportError.notConnected): true
    case .failure(let error as URLError): connectionErrors.contains(error.code)
    case .failure(let error as POSIXError): socketErrors.contains(error.code)
    case .failure: false
    }
  }

  /// Errors of a connection that cannot be made, or that was lost.
  private static let connectionErrors: Set<URLError.Code> = [
    .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed, .notConnectedToInternet,
    .internationalRoamingOff, .callIsActive, .dataNotAllowed,
    // On Linux, a connection that was closed before a response.
    .badServerResponse,
  ]
  private static let socketErrors: Set<POSIXErrorCode> = [
    .ECONNREFUSED, .ECONNRESET, .ECONNABORTED, .EPIPE, .ETIMEDOUT, .ENETDOWN, .ENETUNREACH, .EHOSTDOWN, .EHOSTUNREACH,
  ]
}

extension Duration {
  /// The duration within zero and a day, which every clock can add to its time.
  package var upToADay: Duration { min(max(self, .zero), .seconds(86_400)) }
}

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// Returns the wait that the server asks for; `nil` if the field is missing or invalid.
  static func delay(in fields: HTTPFields, now: Date) -> Duration? {
    fields[values: .retryAfter].lazy.compactMap { delay($0.trimmingCharacters(in: .whitespaces), now) }.first
  }

  private static func delay(_ text: String, _ now: Date) -> Duration? {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard !text.isEmpty, text.utf8.allSatisfy(digits.contains) else {
      return HTTPDate.parse(text, now: now).map { Duration(saturatingSeconds: $0.timeIntervalSince(now)) }
    }
    return Int64(text).map { .seconds($0) } ?? .never
  }
}
