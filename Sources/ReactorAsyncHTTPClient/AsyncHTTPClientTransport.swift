#if AsyncHTTPClient
  public import AsyncHTTPClient
  public import Foundation
  public import HTTPTypes
  import NIOCore
  import NIOHTTP1
  public import ReactorCore

  /// A transport on swift-server's async-http-client and SwiftNIO.
  ///
  /// ```swift
  /// let layer = ModelLayer(
  ///   baseURL: url, transport: AsyncHTTPClientTransport(timeout: .seconds(15)))
  /// ```
  ///
  /// Copies of a transport share one pool of connections, which closes after the last copy is
  /// released. The transport uses HTTP/2 where a TLS server offers it. It stores nothing and has no
  /// cookies. It follows redirects as browsers do, and sends credentials only to their own origin.
  ///
  /// Bodies in gzip and deflate are decoded, up to the limit. Their responses have neither
  /// `Content-Encoding` nor `Content-Length`. Repeated fields are returned as the server sent them.
  /// The body of a request is copied piece by piece while it is sent.
  ///
  /// The transport throws `CancellationError`, `ReactorError/timedOut`,
  /// `ReactorError/invalidResource(_:)`, `TransportError`, and otherwise the client's errors. A
  /// body that ends early is an error and never a short success. A response that breaks the rules
  /// of HTTP is `TransportError/invalidResponse(_:request:)`.
  public struct AsyncHTTPClientTransport: Transport {
    let client: HTTPClient
    /// The transport's own client; `nil` for a client that the caller provides.
    let pool: ConnectionPool?
    let timeout: Duration
    let maximumResponseSize: Int
    let maximumRedirects: Int
    let clock: any Clock<Duration>

    /// Creates a transport with its own connection pool.
    ///
    /// - Parameters:
    ///   - timeout: The time for one exchange as a whole, with redirects and the wait for a
    ///     connection. `Duration.never` sets no limit, but a connection attempt still times out
    ///     after two minutes. Default: 60 seconds.
    ///   - maximumResponseSize: The greatest size of a decoded body in bytes. The exchange ends as
    ///     soon as it exceeds this size. Default: 64 MiB.
    ///   - maximumRedirects: The number of redirects to follow. With zero, the redirect is the
    ///     response. Default: 20.
    ///   - clock: The clock that measures `timeout`. Default: `ContinuousClock`.
    public init(
      timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20, maximumRedirects: Int = 20,
      clock: any Clock<Duration> = ContinuousClock()
    ) {
      self.init(
        pool: ConnectionPool(), timeout: timeout, maximumResponseSize: maximumResponseSize,
        maximumRedirects: maximumRedirects, clock: clock)
    }

    init(
      pool: ConnectionPool, timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20,
      maximumRedirects: Int = 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
      self.pool = pool
      client = pool.client
      self.timeout = timeout
      self.maximumResponseSize = maximumResponseSize
      self.maximumRedirects = maximumRedirects
      self.clock = clock
    }

    /// Creates a transport on a client that others may use too, such as one with its own
    /// certificates, proxies or limits. The transport does not shut the client down.
    ///
    /// The transport does not check the responses of such a client. Some end the process with
    /// async-http-client 1.37, so use it only for servers that you trust.
    ///
    /// - Parameters:
    ///   - client: A client configured with `redirectConfiguration: .disallow`. Otherwise it
    ///     follows redirects by its own rules, and the transport does not see them. The client's
    ///     own timeouts also apply. With `decompression: .enabled`, it fails coded responses that
    ///     have no body, such as a 304. With `.disabled`, a coded body is returned as it is.
    ///   - timeout: The time for one exchange as a whole. Default: 60 seconds.
    ///   - maximumResponseSize: The greatest size of a body in bytes. Default: 64 MiB.
    ///   - maximumRedirects: The number of redirects to follow. Default: 20.
    ///   - clock: The clock that measures `timeout`. Default: `ContinuousClock`.
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

    /// Sends a request and returns the response with its whole body, after redirects.
    ///
    /// Cancelling the calling task ends the exchange and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - request: A request with scheme, authority and path. The scheme is `http` or `https`.
    ///   - body: The body to send; `nil` for none.
    ///   - progress: The callback for progress in either direction. It is called in order, from any
    ///     isolation, and never after the method has returned.
    /// - Throws: `CancellationError`, `ReactorError/timedOut`, `ReactorError/invalidResource(_:)`,
    ///   `TransportError`, or an error of the client.
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
      var sent = try HTTPClientRequest(request, body: body, report: report)
      if pool != nil, !request.headerFields.contains(.acceptEncoding) {
        sent.headers.add(name: "Accept-Encoding", value: "gzip, deflate")
      }
      // The client may send a request even if the task is already cancelled.
      try Task.checkCancellation()
      let received = try await executed(sent, by: client)
      let response = try received.converted()
      let announced = response.announcedLength(of: request.method)
      guard announced ?? 0 <= maximumResponseSize else { throw tooLarge }
      let isRedirect = response.status.kind == .redirection
      if !isRedirect { report.answered(expected: announced) }
      let decoder = pool.map { _ in BodyDecoder(of: response) }
      var data = Data()
      for try await part in received.body {
        let (bytes, limit) = (Data(part.readableBytesView), maximumResponseSize - data.count)
        let decoded = try decoder?.decode(bytes, limit: limit) ?? bytes
        guard decoded.count <= limit else { throw tooLarge }
        data.append(decoded)
        if !isRedirect { report.received(data.count) }
      }
      // A cancellation may end the sequence without an error. The body is then incomplete.
      try Task.checkCancellation()
      try decoder?.finish()
      return (decoder == nil ? response.decoded(byClientOf: data) : response.decoded(), data)
    }

    /// Executes a request without a deadline. The client's deadline ends with the response's head,
    /// but the transport's also covers the body.
    func executed(_ request: HTTPClientRequest, by client: HTTPClient) async throws -> HTTPClientResponse {
      do {
        return try await client.execute(request, deadline: .distantFuture)
      } catch ChannelError.ioOnClosedChannel where request.method == .GET || request.method == .HEAD {
        // A pooled connection was closing when the request reached it. A safe method may be retried
        // (RFC 9110 §9.2.2).
        return try await client.execute(request, deadline: .distantFuture)
      }
    }

    func mapped(_ error: any Error) -> any Error {
      error is Inflater.Overflow ? tooLarge : AsyncHTTPClientFailure.mapped(error)
    }

    private var tooLarge: TransportError { .responseTooLarge(limit: maximumResponseSize) }
  }
#endif
