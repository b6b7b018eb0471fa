#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import Synchronization

  /// The transport's own client, shared by the copies of the transport. It is shut down after the
  /// last copy is released.
  final class ConnectionPool: Sendable {
    let client: HTTPClient
    private let order: ResponseOrder
    private let streams = Mutex<ConnectionPool?>(nil)

    /// Creates a client without redirects, retries and decompression, whose connections check each
    /// response.
    ///
    /// - Parameter connections: The number of connections to a host at once, without HTTP/2; `nil`
    ///   for the client's default, which is eight.
    init(_ order: ResponseOrder = ResponseOrder(), connections: Int? = nil) {
      // The transport itself follows redirects, decodes bodies and has a deadline. This time-out
      // ends only connection attempts that no request waits for.
      var configuration = HTTPClient.Configuration(
        redirectConfiguration: .disallow, timeout: .init(connect: .minutes(2)), decompression: .disabled)
      // An unreachable server is an error at once, not at the deadline.
      configuration.connectionPool.retryConnectionEstablishment = false
      if let connections { configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections }
      // Its spans have the whole URL, query included. The spans of ReactorObservability do not.
      configuration.tracing.tracer = nil
      configuration.addResponseCheck(order)
      self.order = order
      client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Returns the pool of the streams, which is created for the first of them. A stream occupies a
    /// connection for as long as it lasts, and requests do not wait for these.
    func forStreams() -> ConnectionPool {
      streams.withLock { streams in
        let pool = streams ?? ConnectionPool(order, connections: Self.maximumStreams)
        streams = pool
        return pool
      }
    }

    /// The number of streams from one host at once, without HTTP/2.
    private static let maximumStreams = 4_096

    /// The client retains itself until its shutdown is complete.
    deinit { client.shutdown { _ in } }
  }
#endif
