#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTPCompression

  /// A client of the transport's own, which the copies of the transport share. It is shut down when the last of them is gone.
  final class ConnectionPool: Sendable {
    let client: HTTPClient

    /// - Parameter maximumSize: in bytes of a decoded body.
    init(maximumSize: Int) {
      // The transport follows redirects itself; time is the transport's deadline, but for a connection that nobody waits for any more.
      var configuration = HTTPClient.Configuration(
        redirectConfiguration: .disallow, timeout: .init(connect: .minutes(2)),
        decompression: .enabled(limit: .size(max(0, maximumSize))))
      // A server that is gone is an error at once, not at the deadline.
      configuration.connectionPool.retryConnectionEstablishment = false
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// It keeps itself until it is shut down.
    deinit { client.shutdown { _ in } }
  }
#endif
