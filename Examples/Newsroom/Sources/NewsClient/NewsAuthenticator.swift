import Foundation
import ReactorCore
import ReactorMiddleware

/// Signs with the access token, and gets another with the refresh token.
struct NewsAuthenticator: Authenticator {
  /// Of a layer that signs nothing.
  let credentials: Reactor<Credential>
  let saved: SavedSession

  func sign(_ request: inout HTTPRequest, body: Data?, with credential: Credential) {
    request.headerFields[.authorization] = "Bearer \(credential.access)"
  }

  func refresh(_ credential: Credential) async throws -> Credential {
    let renewed = try await credentials.send(.refresh(credential.refresh))
    saved.save(renewed)
    return renewed
  }
}
