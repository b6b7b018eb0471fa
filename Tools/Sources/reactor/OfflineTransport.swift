import Foundation
import HTTPTypes
import ReactorCore

/// Sends nothing: what `--offline` puts in place of the network. A loopback host is never asked about reachability, so
/// that alone would not do.
struct OfflineTransport: Transport {
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    throw ReactorError.noConnectivity
  }
}
