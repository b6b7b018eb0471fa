public import Foundation
public import HTTPTypes

/// Names the program in requests that name none (RFC 9110 §10.1.5).
public struct UserAgentMiddleware: TransportMiddleware {
  private let userAgent: String

  /// - Parameter userAgent: product and version, as in `Newsroom/1.0`. A character that no header field can hold becomes a space.
  public init(_ userAgent: String) { self.userAgent = userAgent }

  public func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard !request.headerFields.contains(.userAgent) else { return try await next(request, body) }
    var request = request
    request.headerFields[.userAgent] = userAgent
    return try await next(request, body)
  }
}
