#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOHTTP2
  import NIOPosix
  import NIOSSL
  import ReactorCore

  /// The mapping from the client's errors to `TransportError`.
  enum AsyncHTTPClientFailure {
    /// Returns the error that a `Transport` throws for an error of the client or of SwiftNIO.
    /// Errors without a counterpart are returned unchanged.
    static func mapped(_ error: any Error) -> any Error {
      switch error {
      case let error as HTTPClientError: mapped(error)
      case let error as HTTPParserError: mapped(error)
      case let error as NIOSSLError: mapped(error)
      case let error as IOError: mapped(error)
      case ChannelError.connectTimeout: ReactorError.timedOut
      case let error as NIOConnectionError: TransportError.notConnected(reason(error))
      case ChannelError.ioOnClosedChannel, ChannelError.eof, is NIOHTTP2Errors.StreamClosed:
        TransportError.connectionFailed(lost)
      case is any NIOHTTP2Error: TransportError.invalidResponse("it breaks the rules of HTTP/2 (\(type(of: error)))")
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
      case .remoteConnectionClosed, .uncleanShutdown: TransportError.connectionFailed(lost)
      default: error
      }
    }

    private static func mapped(_ error: HTTPParserError) -> TransportError {
      switch error {
      case .invalidEOFState, .closedConnection: .connectionFailed(lost)
      case .headerOverflow: .invalidResponse("its header has more than 256 fields, or a field over 80 KB")
      default: .invalidResponse("it breaks the rules of HTTP/1.1 (\(error))")
      }
    }

    private static func mapped(_ error: NIOSSLError) -> any Error {
      switch error {
      case .handshakeFailed(let reason): TransportError.notSecure("\(reason)")
      case .noCertificateToValidate, .unableToValidateCertificate: TransportError.notSecure("\(error)")
      case .uncleanShutdown: TransportError.connectionFailed(lost)
      default: error
      }
    }

    private static func mapped(_ error: IOError) -> TransportError {
      // The system refuses only to connect. The other codes also end a connection that was made.
      error.errnoCode == ECONNREFUSED
        ? .notConnected(reason(error)) : .connectionFailed("\(lost): \(reason(error))")
    }

    /// Returns why no address of a host took the connection.
    private static func reason(_ error: NIOConnectionError) -> String {
      let failures = error.connectionErrors.map { failure in
        (failure.error as? IOError).map(reason) ?? "\(type(of: failure.error))"
      }
      guard !failures.isEmpty else { return "the host was not found" }
      return Set(failures).sorted().joined(separator: ", ")
    }

    private static func reason(_ error: IOError) -> String { String(cString: strerror(error.errnoCode)) }

    private static let lost = "the connection was lost before the response was complete"
  }
#endif
