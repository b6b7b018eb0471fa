public import Foundation
public import HTTPTypes

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
