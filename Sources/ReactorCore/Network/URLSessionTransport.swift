public import Foundation
public import HTTPTypes

public struct URLSessionTransport: Transport {
  public init() {}
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) { throw ReactorError.noConnectivity }
}
