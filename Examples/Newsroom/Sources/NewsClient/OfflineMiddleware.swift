import Foundation
import ReactorCore

/// Sends nothing while the user has switched the connection off.
///
/// A `Reachability` would be the place for it, if the API were not on this machine: a loopback host
/// is always reachable.
struct OfflineMiddleware: TransportMiddleware {
  let offline: Switch

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard !offline.isOn else { throw ReactorError.noConnectivity }
    return try await next(request, body)
  }
}
