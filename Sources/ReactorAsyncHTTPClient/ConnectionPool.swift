#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore

  /// The transport's own client, shared by the copies of the transport. It is shut down after the
  /// last copy is released.
  final class ConnectionPool: Sendable {
    let client: HTTPClient

    /// Creates a client without redirects, retries and decompression, whose connections check each
    /// response.
    init(_ order: ResponseOrder = ResponseOrder()) {
      // The transport itself follows redirects, decodes bodies and has a deadline. This time-out
      // ends only connection attempts that no request waits for.
      var configuration = HTTPClient.Configuration(
        redirectConfiguration: .disallow, timeout: .init(connect: .minutes(2)), decompression: .disabled)
      // An unreachable server is an error at once, not at the deadline.
      configuration.connectionPool.retryConnectionEstablishment = false
      // Its spans have the whole URL, query included. The spans of ReactorObservability do not.
      configuration.tracing.tracer = nil
      configuration.addResponseCheck(order)
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// The client retains itself until its shutdown is complete.
    deinit { client.shutdown { _ in } }
  }
#endif
