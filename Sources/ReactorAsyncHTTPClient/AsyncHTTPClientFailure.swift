#if AsyncHTTPClient
  import AsyncHTTPClient
  import NIOCore
  import NIOPosix
  import ReactorCore

  /// The mapping from the client's errors to those of `Transport`.
  enum AsyncHTTPClientFailure {
    /// Returns the error that a `Transport` throws for an error of the client or of SwiftNIO.
    /// Errors without a counterpart are returned unchanged.
    static func mapped(_ error: any Error) -> any Error {
      switch error {
      case let error as HTTPClientError: mapped(error)
      case ChannelError.connectTimeout: ReactorError.timedOut
      case is NIOConnectionError: TransportError.notConnected("\(error)")
      case is IOError, ChannelError.ioOnClosedChannel, ChannelError.eof:
        TransportError.connectionFailed("\(error)")
      default: error
      }
    }

    private static func mapped(_ error: HTTPClientError) -> any Error {
      switch error {
      case .cancelled: CancellationError()
      case .deadlineExceeded, .connectTimeout, .readTimeout, .writeTimeout, .tlsHandshakeTimeout,
        .socksHandshakeTimeout, .httpProxyHandshakeTimeout, .getConnectionFromPoolTimeout:
        ReactorError.timedOut
      case .invalidURL, .emptyHost, .emptyScheme, .traceRequestWithBody:
        ReactorError.invalidResource("async-http-client cannot send the request: \(error.shortDescription)")
      case .remoteConnectionClosed, .uncleanShutdown: TransportError.connectionFailed(error.shortDescription)
      default: error
      }
    }
  }
#endif
