#if !AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  public import ReactorCore

  // Without the trait, the declarations exist too, so that the compiler only reports the missing
  // trait.

  /// A transport on async-http-client. Available only with the trait `AsyncHTTPClient`.
  @available(
    *, unavailable,
    message:
      "add traits: [\"AsyncHTTPClient\"] to the package dependency on Reactor, so that async-http-client is resolved"
  )
  public struct AsyncHTTPClientTransport: StreamingTransport {
    /// Unavailable without the trait `AsyncHTTPClient`.
    public init(
      timeout: Duration = .zero, maximumResponseSize: Int = 0, maximumRedirects: Int = 0,
      clock: any Clock<Duration> = ContinuousClock()
    ) {}

    /// Unavailable without the trait `AsyncHTTPClient`.
    public init(
      client: some Sendable, timeout: Duration = .zero, maximumResponseSize: Int = 0, maximumRedirects: Int = 0,
      clock: any Clock<Duration> = ContinuousClock()
    ) {}

    /// Unavailable without the trait `AsyncHTTPClient`.
    public func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) { throw CancellationError() }

    /// Unavailable without the trait `AsyncHTTPClient`.
    public func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody) {
      throw CancellationError()
    }
  }
#endif
