import Foundation
import HTTPTypes
import ReactorCore

/// The transport of an outbox, which follows no redirects.
///
/// If a kept-alive connection breaks before the answer, URLSession on Linux sends the request again
/// by itself, whatever its method. A request that must not be repeated therefore gets a connection
/// of its own.
struct OutboxTransport: Transport {
  private let shared: URLSessionTransport
  private let timeout: Duration

  init(timeout: Duration) {
    self.timeout = timeout
    shared = Self.transport(timeout)
  }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    let transport = Self.isRepeatable(request) ? shared : Self.transport(timeout)
    return try await transport.send(request, body: body, progress: progress)
  }

  private static func transport(_ timeout: Duration) -> URLSessionTransport {
    URLSessionTransport(timeout: timeout, maximumRedirects: 0)
  }

  /// Returns a Boolean value that indicates whether a repetition has no further effect.
  static func isRepeatable(_ request: HTTPRequest) -> Bool {
    let isIdempotent = [.put, .delete, .options, .trace].contains(request.method)
    return isIdempotent || HTTPField.Name("Idempotency-Key").map { request.headerFields.contains($0) } == true
  }
}
