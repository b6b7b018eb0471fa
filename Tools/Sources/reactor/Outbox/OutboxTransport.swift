import Foundation
import HTTPTypes
import ReactorCore
import Synchronization

/// The transport of an outbox, which follows no redirects and adds a credential.
final class OutboxTransport: Transport {
  private let transport: URLSessionTransport
  /// The credential is known once the entries are read, and nothing is sent before.
  private let credential = Mutex(OutboxCredential?.none)

  init(timeout: Duration) {
    transport = URLSessionTransport(timeout: timeout, maximumRedirects: 0)
  }

  func use(_ new: OutboxCredential?) { credential.withLock { $0 = new } }

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    var request = request
    credential.withLock(\.self)?.sign(&request)
    return try await transport.send(request, body: body, progress: progress)
  }
}
