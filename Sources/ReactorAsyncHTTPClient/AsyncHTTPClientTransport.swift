#if AsyncHTTPClient
  public import AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  import NIOCore
  import NIOHTTP1
  import NIOHTTPCompression
  public import ReactorCore

  /// Sends requests with swift-server's async-http-client, on SwiftNIO.
  ///
  /// ```swift
  /// let layer = ModelLayer(baseURL: url, transport: AsyncHTTPClientTransport(timeout: .seconds(15)))
  /// ```
  ///
  /// Copies share one pool of connections, which is closed when the last copy is gone. HTTP/2 is used where a TLS server offers it.
  /// It stores nothing and keeps no cookies. Redirects are followed as browsers do; credentials stay with their origin.
  ///
  /// Bodies in gzip and deflate are decoded within the limit; the response then has neither `Content-Encoding` nor
  /// `Content-Length`. Fields that occur several times come as they were sent. A request's body is copied piece by piece as it goes out.
  ///
  /// It throws `CancellationError`, `ReactorError/timedOut`,
  /// `ReactorError/invalidResource(_:)`, `TransportError`, and for the rest the client's
  /// errors: a body that ends early is one, never a short success.
  public struct AsyncHTTPClientTransport: Transport {
    private let client: HTTPClient
    /// Where the client is the transport's own.
    private let pool: ConnectionPool?
    private let timeout: Duration
    private let maximumResponseSize: Int
    private let maximumRedirects: Int
    private let clock: any Clock<Duration>

    /// A transport with a connection pool of its own.
    ///
    /// - Parameters:
    ///   - timeout: how long one exchange may take as a whole, redirects and waiting for a connection included.
    ///     `Duration.never`: as long as it takes; a connection that is not made in two minutes is timed out all the same.
    ///   - maximumResponseSize: in bytes of the decoded body. The exchange is stopped as soon as it is known to exceed it.
    ///   - maximumRedirects: how many are followed. Zero: none, and the redirect is the response.
    ///   - clock: by which `timeout` is measured.
    public init(
      timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20, maximumRedirects: Int = 20,
      clock: any Clock<Duration> = ContinuousClock()
    ) {
      let pool = ConnectionPool(maximumSize: maximumResponseSize)
      self.pool = pool
      client = pool.client
      self.timeout = timeout
      self.maximumResponseSize = maximumResponseSize
      self.maximumRedirects = maximumRedirects
      self.clock = clock
    }

    /// A transport on a client that others use too: for certificates, proxies, limits of one's own. It stays open.
    ///
    /// - Parameters:
    ///   - client: configured not to follow redirects (`redirectConfiguration: .disallow`), or it follows them by its own rules and
    ///     tells nobody. Its timeouts count too. It decodes bodies where it is told to, within its own limit.
    ///   - timeout: as for ``init(timeout:maximumResponseSize:maximumRedirects:clock:)``, and the others too.
    public init(
      client: HTTPClient, timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20,
      maximumRedirects: Int = 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
      self.client = client
      pool = nil
      self.timeout = timeout
      self.maximumResponseSize = maximumResponseSize
      self.maximumRedirects = maximumRedirects
      self.clock = clock
    }

    public func send(
      _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> (HTTPResponse, Data) {
      do {
        return try await TransferReport.reporting(progress, bodySize: body?.count ?? 0) { report in
          try await withDeadline(timeout, clock) {
            try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
              try await exchange(request, body: body, report: report)
            }
          }
        }
      } catch {
        throw Task.isCancelled ? CancellationError() : mapped(error)
      }
    }

    private func exchange(
      _ request: HTTPRequest, body: Data?, report: TransferReport
    ) async throws -> (HTTPResponse, Data) {
      let sent = try HTTPClientRequest(request, body: body, report: report)
      // The client sends what is cancelled already, where it is quick enough.
      try Task.checkCancellation()
      let received = try await executed(sent)
      let response = try received.converted()
      let announced = response.announcedLength(of: request.method)
      guard announced ?? 0 <= maximumResponseSize else { throw tooLarge }
      let isRedirect = response.status.kind == .redirection
      if !isRedirect { report.answered(expected: announced) }
      var data = Data()
      for try await part in received.body {
        guard part.readableBytes <= maximumResponseSize - data.count else { throw tooLarge }
        data.append(contentsOf: part.readableBytesView)
        if !isRedirect { report.received(data.count) }
      }
      // Whatever the sequence makes of a cancellation, it is no short body.
      try Task.checkCancellation()
      return (response.decoded(data, byOwnClient: pool != nil), data)
    }

    /// The client's deadline ends with the response's head; ours counts the body too, so the client gets none.
    private func executed(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
      do {
        return try await client.execute(request, deadline: .distantFuture)
      } catch ChannelError.ioOnClosedChannel where request.method == .GET || request.method == .HEAD {
        // A kept connection was being closed when the request was put on it; safe methods may be sent again (RFC 9110 §9.2.2).
        return try await client.execute(request, deadline: .distantFuture)
      }
    }

    private func mapped(_ error: any Error) -> any Error {
      if pool != nil, case NIOHTTPDecompression.DecompressionError.limit = error { return tooLarge }
      return AsyncHTTPClientFailure.mapped(error)
    }

    private var tooLarge: TransportError { .responseTooLarge(limit: maximumResponseSize) }
  }
#endif
