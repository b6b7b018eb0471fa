import Foundation
import HTTPTypes

/// Adds a `User-Agent` to requests that have none (RFC 9110 §10.1.5).
struct UserAgentMiddleware: TransportMiddleware {
  private let userAgent: String

  /// - Parameter userAgent: product and version, such as `Newsroom/1.0`. A character that a header
  ///   field cannot hold becomes a space.
  init(_ userAgent: String) { self.userAgent = userAgent }

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard !request.headerFields.contains(.userAgent) else { return try await next(request, body) }
    var request = request
    request.headerFields[.userAgent] = userAgent
    return try await next(request, body)
  }
}
