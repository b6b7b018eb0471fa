import Foundation
import HTTPTypes
import ReactorCore

/// The refresh token is no longer good: the user has to sign in again.
public struct SessionExpired: Error {}

/// Signs with the access token, and gets another with the refresh token.
struct NewsAuthenticator: Authenticator {
  /// Of a layer that signs nothing.
  let credentials: Reactor<Credential>

  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Credential) {
    request.headerFields[.authorization] = "Bearer \(credential.access)"
  }

  func refresh(_ credential: Credential) async throws -> Credential {
    do {
      return try await credentials.fetch(.refresh(credential.refresh))
    } catch ReactorError.server(let response, _) where response.status == .unauthorized {
      throw SessionExpired()
    }
  }
}
