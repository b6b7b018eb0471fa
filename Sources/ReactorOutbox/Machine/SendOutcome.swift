package import Foundation
package import HTTPTypes
package import ReactorCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The outcome of an attempt for its entry.
package enum SendOutcome: Sendable {
  /// The server has carried out the request, or has promised to (RFC 9110 §15.3.3).
  case accepted
  /// The server has not carried out the request, and would not if it were sent again.
  case refused
  /// The base of the request has changed on the server.
  case conflict
  /// The server has not carried out the request, and allows another attempt, after this time if it
  /// names one.
  case later(after: Duration?)
  /// No byte of the request has reached the server.
  case unsent
  /// The server does not know the user. Nothing was carried out.
  case signIn
  /// The server may or may not have carried out the request.
  case unknown
  /// A page for a person or another origin has answered, as when a session or a network requires a
  /// sign-in. The server may or may not have carried out the request, and another attempt would get
  /// the same response.
  case diverted

  /// The case as it is saved.
  package enum Kind: String, Sendable, CaseIterable {
    case accepted, refused, conflict, later, unsent, signIn, unknown, diverted
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
    case .diverted: .diverted
    }
  }
}

extension SendOutcome {
  /// The finished attempt.
  package struct Attempt: Sendable {
    /// The number of the attempt under its idempotency key, from 1.
    package var number: Int
    /// A Boolean value that indicates whether the request has an idempotency key.
    package var isKeyed: Bool
    /// A Boolean value that indicates whether the request has `If-Match`.
    package var hasIfMatch: Bool
    /// The redirects from the request to its response.
    package var route: WriteRoute
    /// The latest exchange of the transport.
    package var latest: LatestExchange
    /// The errors of the calls of the transport, of which a middleware may make several.
    package var failures: [any Error]

    package init(
      number: Int = 1, isKeyed: Bool = false, hasIfMatch: Bool = false, route: WriteRoute = WriteRoute(),
      latest: LatestExchange = .failed, failures: [any Error] = []
    ) {
      self.number = number
      self.isKeyed = isKeyed
      self.hasIfMatch = hasIfMatch
      self.route = route
      self.latest = latest
      self.failures = failures
    }

    /// A Boolean value that indicates whether a call of the transport may have carried the request
    /// out, although it has failed.
    fileprivate var isInDoubt: Bool {
      failures.contains { error in
        let error = ReactorError(error, wrap: ReactorError.network)
        return SendOutcome(ofTransport: error, of: self, now: .distantPast).kind == .unknown
      }
    }
  }

  /// Returns the outcome for a response or an error.
  ///
  /// - Parameter now: the wall clock's time, for a date in `Retry-After`.
  package init(_ result: Result<HTTPResponse, ReactorError>, of attempt: Attempt, now: Date) {
    let isSuccess = (try? result.get()).map { $0.status.kind == .successful } ?? false
    switch (attempt.route.verdict(isSuccess: isSuccess), result) {
    case (.carriedOut, _): self = .accepted
    case (.notCarriedOut, _): self = .refused
    case (.diverted, _): self = .diverted
    case (.answered, .success(let response)): self.init(response, of: attempt, now: now)
    case (.answered, .failure(let error)): self.init(error, of: attempt, now: now)
    }
  }

  /// Returns the outcome of a success that the mutation itself has rejected; see
  /// ``Mutation/check(_:)``.
  package init(checking error: ReactorError) {
    switch error {
    case .authentication: self = .signIn
    case _ where error.diverted != nil: self = .diverted
    default: self = .refused
    }
  }

  /// The table of statuses. A 307 or 308 that arrives here names no target.
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
    // The network wants a sign-in first, and has forwarded nothing (RFC 6585 §6).
    case 511: self = .unsent
    default: self = .unknown
    }
  }

  /// If an error follows a response, a middleware threw it, and so did not accept the response as a
  /// success. A refusal by the response still counts.
  private init(_ error: ReactorError, of attempt: Attempt, now: Date) {
    switch (attempt.latest, error) {
    case (.unsigned, _): self.init(unsigned: error)
    case (.none, _), (.failed, _), (.answered, .server), (.answered, .authentication), (.answered, .invalidResource):
      self.init(ofTransport: error, of: attempt, now: now)
    case (.answered(let response), _):
      self.init(response, of: attempt, now: now)
      if case .accepted = self { self = .unknown }
    }
    // An earlier call in the same attempt may have reached the server.
    if case .unsent = self, attempt.isInDoubt { self = .unknown }
  }

  private init(ofTransport error: ReactorError, of attempt: Attempt, now: Date) {
    switch error {
    case .noConnectivity: self = .unsent
    case .authentication: self = .signIn
    case .server(let response, _): self.init(response, of: attempt, now: now)
    case .invalidResource, .notCached, .deadlock, .persistence, .streamingUnsupported: self = .refused
    // The server has answered, and only the answer is unreadable.
    case .parser: self = .accepted
    case .network(let error as ReactorError): self.init(ofTransport: error, of: attempt, now: now)
    case .network(let error as URLError) where [.badURL, .unsupportedURL].contains(error.code): self = .refused
    case .network(let error): self = Self.neverConnected(error) ? .unsent : .unknown
    default: self = .unknown
    }
  }

  /// Returns the outcome for an error of the refresh of a credential, without which the request was
  /// not sent. Only a refusal of the credential asks for a sign-in.
  private init(unsigned error: ReactorError) {
    switch error {
    case .noConnectivity, .timedOut, .cancelled, .network, .server: self = .unsent
    default: self.init(preparing: error)
    }
  }

  /// Returns the outcome for an error of ``Mutation/request(_:)``: nothing was sent. A transient
  /// network failure is ``unsent``, and any other error refuses the mutation.
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
    case TransportError.notConnected, TransportError.notSecure: true
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
  package var isIdempotent: Bool { [.get, .head, .query, .options, .trace, .put, .delete].contains(self) }
}
