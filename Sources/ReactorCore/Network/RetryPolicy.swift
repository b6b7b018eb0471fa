import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

/// What follows from the outcome of an attempt.
enum RetryDecision: Sendable, Hashable {
  case retry(after: Duration)
  /// The outcome is the result.
  case giveUp
}

extension RetryPolicy {
  /// - Parameters:
  ///   - attempt: its number, from 1.
  ///   - isReadOnly: what the resource says; `nil` where it leaves that to the method.
  ///   - random: in 0…1, where in the range the wait is.
  func decision(
    after attempt: Int, of request: HTTPRequest, isReadOnly: Bool?, outcome: Result<HTTPResponse, any Error>,
    now: Date, random: Double
  ) -> RetryDecision {
    guard attempt < attempts, Self.isRepeatable(request, isReadOnly: isReadOnly), Self.mayPass(outcome) else {
      return .giveUp
    }
    let delay = Duration(saturatingSeconds: ceiling(attempt) * random)
    guard case .success(let response) = outcome,
      let asked = RetryAfter.delay(in: response.headerFields, now: now)
    else { return .retry(after: delay) }
    return asked <= longestRetryAfter.upToADay ? .retry(after: max(asked, delay)) : .giveUp
  }

  /// The most that the wait after `attempt` may be, in seconds.
  private func ceiling(_ attempt: Int) -> Double {
    let first = firstDelay.upToADay.inSeconds
    let longest = longestDelay.upToADay.inSeconds
    guard first > 0 else { return 0 }
    // `max` first, so that what is no number counts as 1.
    let grown = first * pow(min(max(1, multiplier), 1_000), Double(max(attempt, 1) - 1))
    return min(grown, longest)
  }

  /// Returns whether a second request does what the first did.
  private static func isRepeatable(_ request: HTTPRequest, isReadOnly: Bool?) -> Bool {
    if let key = HTTPField.Name("Idempotency-Key"), request.headerFields.contains(key) { return true }
    switch request.method {
    case .get, .head, .options, .trace: return isReadOnly ?? true
    case .put, .delete: return true
    default: return isReadOnly ?? false
    }
  }

  static func mayPass(_ outcome: Result<HTTPResponse, any Error>) -> Bool {
    switch outcome {
    case .success(let response): [408, 425, 429, 500, 502, 503, 504].contains(response.status.code)
    case .failure(ReactorError.noConnectivity), .failure(ReactorError.timedOut): true
    case .failure(ReactorError.network(let cause)): mayPass(.failure(cause))
    case .failure(TransportError.connectionFailed): true
    case .failure(let error as URLError): connectionErrors.contains(error.code)
    case .failure(let error as POSIXError): socketErrors.contains(error.code)
    case .failure: false
    }
  }

  /// There is no connection, or there is none any more.
  private static let connectionErrors: Set<URLError.Code> = [
    .timedOut, .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed, .notConnectedToInternet,
    .internationalRoamingOff, .callIsActive, .dataNotAllowed,
    // On Linux, a connection that was closed before an answer.
    .badServerResponse,
  ]
  private static let socketErrors: Set<POSIXErrorCode> = [
    .ECONNREFUSED, .ECONNRESET, .ECONNABORTED, .EPIPE, .ETIMEDOUT, .ENETDOWN, .ENETUNREACH, .EHOSTDOWN, .EHOSTUNREACH,
  ]
}

extension Duration {
  /// Within what every clock can add to its time.
  var upToADay: Duration { min(max(self, .zero), .seconds(86_400)) }
}

/// The `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter {
  /// How long the server asks to be left alone; `nil` where it says nothing that can be understood.
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
