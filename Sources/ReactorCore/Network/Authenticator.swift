public import Foundation
public import HTTPTypes

/// Signs the requests of one user, and gets a new credential when the old one is refused.
///
/// ```swift
/// struct BearerAuthenticator: Authenticator {
///   func sign(_ request: inout HTTPRequest, body: Data?, with token: Token) {
///     request.headerFields[.authorization] = "Bearer \(token.access)"
///   }
///   func refresh(_ token: Token) async throws -> Token { try await tokens.renewed(token.refresh) }
/// }
/// ```
///
/// An ``AuthenticationMiddleware`` calls it, concurrently and from any isolation.
public protocol Authenticator: Sendable {
  /// What a request is signed with, such as an access token with the refresh token that belongs to it.
  associatedtype Credential: Sendable

  /// Adds what proves who sends `request`, once for each attempt. Only the path and the header fields that it leaves are used.
  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Credential) async throws

  /// A new credential for one that the server refused with 401. Called once, however many requests wait for it.
  ///
  /// What it throws is the error of each of them: a failure of the network as it is, all else in
  /// ``ReactorError/authentication(_:)``. It is cancelled when none of them waits any more, and at sign-out. To keep the
  /// credential for the next start of the program is its own affair. What it sends through the middleware that calls it is
  /// passed on without being signed.
  ///
  /// It may fetch through the layer that it signs for. Such a fetch is answered from the cache or is a request of its own: it
  /// joins no other, since that may wait for the refresh, and its answer is not stored. `states(for:)` fails there with
  /// ``ReactorError/invalidResource(_:)``, but under ``FetchPolicy/cacheOnly``.
  func refresh(_ credential: Credential) async throws -> Credential
}
