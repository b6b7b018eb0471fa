public import Foundation
public import HTTPTypes

/// A type that sends one request and returns the whole response.
///
/// A transport is called concurrently and from any isolation. It must not cache: `HTTPCache`
/// decides about freshness, validators and storage. It throws its own errors. The flow wraps any
/// error except ``ReactorError`` in ``ReactorError/network(_:)``. A connection that is lost, even
/// in the middle of a body, is a retried error, such as
/// ``TransportError/connectionFailed(_:request:)``.
///
/// A transport must not follow redirects by itself. It may leave them to a transport of this
/// package that it wraps, which reports them. The cache would store an unreported redirect's
/// response under the requested URL, with the validators and the freshness of another URL.
public protocol Transport: Sendable {
  /// Sends `request` with `body`, and returns the response with its whole body, whatever its
  /// status.
  ///
  /// Cancelling the calling task ends the exchange, and the call throws at once.
  ///
  /// - Parameters:
  ///   - request: an absolute request: scheme, authority and path are set.
  ///   - body: the bytes to send; `nil` for none.
  ///   - progress: called any number of times, in order, from any isolation, but not after the call
  ///     has returned.
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data)
}

/// A wrapper around every exchange of a ``Backend``. It may change the request, inspect the
/// response, or answer without the network.
///
/// ```swift
/// struct APIVersion: TransportMiddleware {
///   func intercept(
///     _ request: HTTPRequest, body: Data?, next: Next
///   ) async throws -> (HTTPResponse, Data) {
///     var request = request
///     request.headerFields[.apiVersion] = "2026-11-01"
///     return try await next(request, body)
///   }
/// }
/// ```
///
/// Middlewares run from the outside in, in the order that ``Backend`` describes. The innermost
/// calls the transport. They are called concurrently and from any isolation.
public protocol TransportMiddleware: Sendable {
  /// The rest of the chain. A middleware may call it more than once, as for a retry, or not at all.
  typealias Next = @Sendable (HTTPRequest, Data?) async throws -> (HTTPResponse, Data)

  /// Handles one exchange.
  ///
  /// - Parameters:
  ///   - request: the request as the outer middlewares left it.
  ///   - body: the bytes to send.
  ///   - next: the rest of the chain.
  /// - Returns: the response and its body.
  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data)

  /// Forgets what the middleware holds of the user, such as a credential or cookies. Default: does
  /// nothing.
  ///
  /// ``ModelLayer/signOut()`` calls this method on the isolation of its caller, before it removes
  /// what is stored.
  func signOut()
}

extension TransportMiddleware {
  /// Does nothing: the middleware holds nothing of the user.
  public func signOut() {}
}

/// A middleware that shows URLs, and hides the values of query items.
package protocol QueryHiding: TransportMiddleware {
  /// Returns the same middleware, which does not show the values of `names` either.
  func hiding(_ names: Set<String>) -> Self
}
