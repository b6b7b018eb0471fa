public import Foundation
public import HTTPTypes

/// Sends one request and gives back the whole response.
///
/// A conformer is called concurrently and from any isolation. It adds nothing that caches: freshness, validators
/// and storage are decided by `HTTPCache`. It reports what failed in its own words; the flow turns an
/// error that is no ``ReactorError`` into ``ReactorError/network(_:)``.
///
/// It follows no redirects by itself, or leaves them to a transport of this package that it wraps: only that tells of them. An answer
/// that came over others is stored as if the URL that was asked for had given it, with the validators and the freshness of another.
public protocol Transport: Sendable {
  /// Sends `request` with `body` and returns the response, whatever its status, with the whole of its body.
  ///
  /// Cancelling the calling task ends the exchange; the call then throws at once.
  ///
  /// - Parameters:
  ///   - request: an absolute request: scheme, authority and path are set.
  ///   - body: the bytes to send; `nil` for none.
  ///   - progress: called any number of times, in order, from any isolation, not after the call has returned.
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data)
}

/// Wraps every exchange of a ``Backend``: changes the request, looks at the response, answers by itself.
///
/// Middlewares run from outside in, in the order that ``Backend`` tells; the innermost calls the transport.
public protocol TransportMiddleware: Sendable {
  /// The rest of the chain. It may be called more than once (a retry), or not at all (an answer of one's own).
  typealias Next = @Sendable (HTTPRequest, Data?) async throws -> (HTTPResponse, Data)

  /// Handles one exchange.
  ///
  /// - Parameters:
  ///   - request: the request as the outer middlewares left it.
  ///   - body: the bytes to send.
  ///   - next: the rest of the chain.
  /// - Returns: the response and its body.
  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data)

  /// Forgets what it holds of the user, such as a credential or cookies. Default: does nothing.
  ///
  /// ``ModelLayer/signOut()`` calls it from whatever isolation it is called in, before it forgets what is stored.
  func signOut()
}

extension TransportMiddleware {
  public func signOut() {}
}

/// Why a transport gave up on an exchange that the platform had no objection to.
@nonexhaustive public enum TransportError: Error, Sendable, Hashable {
  /// The response's body is larger than the transport accepts, by what it announced or by what arrived. In bytes.
  case responseTooLarge(limit: Int)
  /// The server redirected more often than the transport follows, as in a loop.
  case tooManyRedirects(limit: Int)
  /// The response has more header fields than the transport accepts.
  case tooManyFields(limit: Int)
  /// There was no connection, or none any more, for a reason in the client's words. Asking again may help.
  case connectionFailed(String)
}

extension TransportError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .responseTooLarge(let limit): "the response is larger than \(limit) bytes"
    case .tooManyRedirects(let limit): "more than \(limit) redirects"
    case .tooManyFields(let limit): "the response has more than \(limit) header fields"
    case .connectionFailed(let reason): "the connection failed: \(reason)"
    }
  }
}
