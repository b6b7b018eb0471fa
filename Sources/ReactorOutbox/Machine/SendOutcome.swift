package import Foundation
package import HTTPTypes
package import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The meaning of an attempt's end for its entry.
package enum SendOutcome: Sendable {
  /// The server has carried out the request, or has promised to (RFC 9110 §15.3.3).
  case accepted
  /// The server has not carried out the request, and would not if it were sent again.
  case refused
  /// The base of the request has changed on the server.
  case conflict
  /// The server has not carried out the request, and asks for another attempt; after this time if
  /// it says one.
  case later(after: Duration?)
  /// No byte of the request has reached the server.
  case unsent
  /// The server does not know the user. Nothing was carried out.
  case signIn
  /// The server may or may not have carried out the request.
  case unknown

  /// The case as it is saved.
  package enum Kind: String, Sendable, CaseIterable {
    case accepted, refused, conflict, later, unsent, signIn, unknown
  }

  package var kind: Kind {
    switch self {
    case .accepted: .accepted
    case .refused: .refused
    case .conflict: .conflict
    case .later: .later
    case .unsent: .unsent
    case .signIn: .signIn
    case .unknown: .unknown
    }
  }
}

extension SendOutcome {
  /// The attempt that has ended.
  package struct Attempt: Sendable {
    /// The number of the attempt under its idempotency key, from 1.
    package var number: Int
    /// A Boolean value that indicates whether the request has an idempotency key.
    package var isKeyed: Bool
    /// A Boolean value that indicates whether the request has `If-Match`.
    package var hasIfMatch: Bool
    /// A Boolean value that indicates whether the server has redirected the request to a `GET` of
    /// its result, which was followed (RFC 9110 §15.4.4).
    package var isSeenElsewhere: Bool

    package init(
      number: Int = 1, isKeyed: Bool = false, hasIfMatch: Bool = false, isSeenElsewhere: Bool = false
    ) {
      self.number = number
      self.isKeyed = isKeyed
      self.hasIfMatch = hasIfMatch
      self.isSeenElsewhere = isSeenElsewhere
    }
  }

  /// Returns the meaning of a response or an error.
  ///
  /// - Parameter now: the wall clock's time, for a date in `Retry-After`.
  package init(_ result: Result<HTTPResponse, ReactorError>, of attempt: Attempt, now: Date) {
    switch result {
    // The request itself was carried out, whatever became of the `GET`.
    case _ where attempt.isSeenElsewhere: self = .accepted
    case .success(let response): self.init(response, of: attempt, now: now)
    case .failure(let error): self.init(error, of: attempt, now: now)
    }
  }

  /// The table of statuses. A redirect that arrives here was not followed, and counts as an
  /// acceptance, unless the server asks for the same request elsewhere.
  private init(_ response: HTTPResponse, of attempt: Attempt, now: Date) {
    switch response.status.code {
    case 307, 308: self = .refused
    case 200...399: self = .accepted
    case 401: self = .signIn
    case 412: self = .conflict
    case 409 where attempt.hasIfMatch: self = .conflict
    // The first request under the key is still being processed (Idempotency-Key draft, §2.7).
    case 409 where attempt.isKeyed && attempt.number > 1: self = .later(after: Self.retryAfter(response, now))
    case 408, 425, 429, 503: self = .later(after: Self.retryAfter(response, now))
    case 400...499: self = .refused
    // 501 and 505 are a server's refusal of the method and the version.
    case 501, 505: self = .refused
    // The network wants a sign-in of its own, and has let nothing through (RFC 6585 §6).
    case 511: self = .unsent
    default: self = .unknown
    }
  }

  private init(_ error: ReactorError, of attempt: Attempt, now: Date) {
    switch error {
    case .noConnectivity: self = .unsent
    case .authentication: self = .signIn
    case .server(let response, _): self.init(response, of: attempt, now: now)
    case .invalidResource, .notCached, .deadlock, .persistence: self = .refused
    // The server has answered, and only the answer is unreadable.
    case .parser: self = .accepted
    case .network(let error as ReactorError): self.init(error, of: attempt, now: now)
    case .network(let error as URLError) where [.badURL, .unsupportedURL].contains(error.code): self = .refused
    case .network(let error): self = Self.neverConnected(error) ? .unsent : .unknown
    default: self = .unknown
    }
  }

  /// Returns the meaning of an error of ``Mutation/request(_:)``: nothing was sent. A failure of
  /// the network that may pass is ``unsent``, and any other error refuses the mutation.
  package init(preparing error: ReactorError) {
    switch error {
    case .cancelled: self = .unsent
    case .authentication: self = .signIn
    case .server(let response, _) where response.status == .unauthorized: self = .signIn
    case .server(let response, _): self = RetryPolicy.mayPass(.success(response)) ? .unsent : .refused
    case .network(let error as ReactorError): self.init(preparing: error)
    default: self = RetryPolicy.mayPass(.failure(error)) ? .unsent : .refused
    }
  }

  /// Returns `true` for an error of a connection that was never made, so that nothing was sent.
  private static func neverConnected(_ error: any Error) -> Bool {
    switch error {
    case TransportError.notConnected: true
    case let error as URLError:
      [
        .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet, .internationalRoamingOff,
        .callIsActive, .dataNotAllowed, .secureConnectionFailed,
        .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
        .serverCertificateNotYetValid, .appTransportSecurityRequiresSecureConnection,
      ].contains(error.code)
    case let error as POSIXError:
      [.ECONNREFUSED, .ENETDOWN, .ENETUNREACH, .EHOSTDOWN, .EHOSTUNREACH].contains(error.code)
    default: false
    }
  }

  private static func retryAfter(_ response: HTTPResponse, _ now: Date) -> Duration? {
    RetryPolicy.retryAfter(in: response.headerFields, now: now)
  }
}

extension HTTPRequest.Method {
  /// A Boolean value that indicates whether a repeated request has the effect of a single one (RFC
  /// 9110 §9.2.2).
  package var isIdempotent: Bool { [.get, .head, .options, .trace, .put, .delete].contains(self) }
}
