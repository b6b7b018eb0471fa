#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTPCompression

  /// The transport's own client, shared by the copies of the transport. It is shut down after the
  /// last copy is released.
  final class ConnectionPool: Sendable {
    let client: HTTPClient

    /// Creates a client without redirects and retries.
    ///
    /// - Parameter maximumSize: The greatest size of a decoded body, in bytes.
    init(maximumSize: Int) {
      // The transport itself follows redirects and has a deadline. This time-out ends only
      // connection attempts that no request waits for any more.
      var configuration = HTTPClient.Configuration(
        redirectConfiguration: .disallow, timeout: .init(connect: .minutes(2)),
        decompression: .enabled(limit: .size(max(0, maximumSize))))
      // An unreachable server is an error at once, not at the deadline.
      configuration.connectionPool.retryConnectionEstablishment = false
      // Its spans have the whole URL, query included. Those of ReactorObservability do not.
      configuration.tracing.tracer = nil
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// The client retains itself until its shutdown is complete.
    deinit { client.shutdown { _ in } }
  }
#endif
