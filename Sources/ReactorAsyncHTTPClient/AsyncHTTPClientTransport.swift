#if AsyncHTTPClient
  public import AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  import NIOCore
  import NIOHTTPCompression
  public import ReactorCore

  /// Sends requests with swift-server's async-http-client, on SwiftNIO.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: url, transport: AsyncHTTPClientTransport(timeout: .seconds(15)))
  /// ```
  ///
  /// Connections, TLS, proxies, decompression and redirects are the client's, as it is configured; it stays open. Where it
  /// follows redirects, it leaves `Authorization` and `Cookie` behind at another origin. Fields that occur several
  /// times come as they were sent.
  ///
  /// It throws `CancellationError`, ``ReactorCore/ReactorError/timedOut``,
  /// ``ReactorCore/ReactorError/invalidResource(_:)``, ``ReactorCore/TransportError``, and for the rest the client's
  /// errors: a body that ends early is one, never a short success.
  public struct AsyncHTTPClientTransport: Transport {
    /// What is used where no client is given: `HTTPClient.shared`, but that a connection that cannot be made fails at once.
    /// The shared one tries again until the deadline, so that a server that is gone is a timeout.
    public static let defaultClient: HTTPClient = {
      var configuration = HTTPClient.Configuration.singletonConfiguration
      configuration.connectionPool.retryConnectionEstablishment = false
      // maximumResponseSize bounds what is decoded; JSON may well be more than 25 times its compressed size.
      configuration.decompression = .enabled(limit: .none)
      return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    private let client: HTTPClient
    private let timeout: Duration
    private let maximumResponseSize: Int
    private let clock: any Clock<Duration>

    /// - Parameters:
    ///   - client: shared with whoever else uses it.
    ///   - timeout: how long one exchange may take as a whole, redirects and waiting for a connection included.
    ///     `Duration.never`: as long as it takes. The client's own timeouts count too.
    ///   - maximumResponseSize: in bytes of the decoded body. The exchange is stopped as soon as it is known to exceed it.
    ///   - clock: by which `timeout` is measured.
    public init(
      client: HTTPClient = defaultClient, timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20,
      clock: any Clock<Duration> = ContinuousClock()
    ) {
      self.client = client
      self.timeout = timeout
      self.maximumResponseSize = maximumResponseSize
      self.clock = clock
    }

    public func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      let sent = try HTTPClientRequest(request, body: body)
      do {
        return try await withDeadline(timeout, clock) {
          try await exchange(sent, of: request.method, bodySize: body?.count ?? 0, progress: progress)
        }
      } catch {
        throw Task.isCancelled ? CancellationError() : AsyncHTTPClientFailure.mapped(error)
      }
    }

    private func exchange(
      _ request: HTTPClientRequest, of method: HTTPRequest.Method, bodySize: Int,
      progress: @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      // The client sends what is cancelled already, where it is quick enough.
      try Task.checkCancellation()
      // The client's deadline ends with the response's head; ours counts the body too.
      let received = try await client.execute(request, deadline: .distantFuture)
      let response = try received.converted()
      let announced = method == .head ? nil : response.announcedLength
      guard announced ?? 0 <= maximumResponseSize else { throw tooLarge }
      var transferred = TransferProgress(sent: Int64(bodySize), expected: announced.map(Int64.init))
      progress(transferred)
      var data = Data()
      for try await part in received.body {
        guard part.readableBytes <= maximumResponseSize - data.count else { throw tooLarge }
        data.append(contentsOf: part.readableBytesView)
        transferred.received = Int64(data.count)
        progress(transferred)
      }
      // Whatever the sequence makes of a cancellation, it is no short body.
      try Task.checkCancellation()
      return (response.decoded(data), data)
    }

    private var tooLarge: TransportError { .responseTooLarge(limit: maximumResponseSize) }
  }
#else
  /// A transport on async-http-client. It is there with the trait `AsyncHTTPClient` alone.
  @available(
    *, unavailable,
    message:
      "add traits: [\"AsyncHTTPClient\"] to the package dependency on Reactor, so that async-http-client is resolved"
  )
  public struct AsyncHTTPClientTransport {
    public init() {}
  }
#endif
