#if !AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  public import ReactorCore

  // Every initializer is here without the trait too, so that the compiler says what to add and nothing else.

  /// A transport on async-http-client. It is there with the trait `AsyncHTTPClient` alone.
  @available(
    *, unavailable,
    message:
      "add traits: [\"AsyncHTTPClient\"] to the package dependency on Reactor, so that async-http-client is resolved"
  )
  public struct AsyncHTTPClientTransport: Transport {
    public init(
      timeout: Duration = .zero, maximumResponseSize: Int = 0, maximumRedirects: Int = 0,
      clock: any Clock<Duration> = ContinuousClock()
    ) {}

    public init(
      client: some Sendable, timeout: Duration = .zero, maximumResponseSize: Int = 0, maximumRedirects: Int = 0,
      clock: any Clock<Duration> = ContinuousClock()
    ) {}

    public func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) { throw CancellationError() }
  }
#endif
