import Foundation
import HTTPTypes

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

  /// Whether a second request does what the first did.
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
