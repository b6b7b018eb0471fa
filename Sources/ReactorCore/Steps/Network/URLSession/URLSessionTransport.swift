public import Foundation
public import HTTPTypes
import HTTPTypesFoundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests with Foundation's `URLSession`.
///
/// ```swift
/// let transport = URLSessionTransport(timeout: .seconds(15))
/// ```
///
/// It stores nothing: no `URLCache`, no credentials, and by default no cookies. Copies share one
/// session with its connections, which is closed when the last copy is released.
///
/// The platform decodes compressed bodies; the response then has neither `Content-Encoding` nor
/// `Content-Length`. Repeated header fields are joined by commas, and fields are sorted by name.
///
/// It throws `CancellationError`, ``ReactorError/timedOut``, ``ReactorError/noConnectivity``,
/// ``ReactorError/invalidResource(_:)``, ``TransportError``, and otherwise the platform's
/// `URLError`. A body that ends early is `URLError.networkConnectionLost`, never a short success.
///
/// On Linux, each request that may change something opens a new connection: on a kept-alive one
/// that breaks before the answer, libcurl would send it a second time. A program that sends many
/// such requests should use another transport.
///
/// On Linux, a broken response can end the process, because Foundation traps. No code can catch
/// that. Use another transport there for servers that the program does not trust: see
/// <doc:Transports>.
public struct URLSessionTransport: StreamingTransport {
  private let session: URLSessionOwner
  private let timeout: Duration
  private let maximumResponseSize: Int
  private let maximumRedirects: Int
  private let clock: any Clock<Duration>

  /// Creates a transport with its own session.
  ///
  /// - Parameters:
  ///   - timeout: the limit for a whole exchange, including redirects and the wait for a
  ///     connection. `Duration.never` sets none.
  ///   - maximumResponseSize: the limit of the decoded body in bytes. The exchange ends as soon as
  ///     the response is known to exceed it.
  ///   - maximumRedirects: the largest number of redirects to follow. With zero, the redirect is
  ///     the response.
  ///   - usesCookies: `true` to store cookies, in memory and only for this transport.
  ///   - clock: the clock that measures `timeout`.
  public init(
    timeout: Duration = .seconds(60), maximumResponseSize: Int = 64 << 20, maximumRedirects: Int = 20,
    usesCookies: Bool = false, clock: any Clock<Duration> = ContinuousClock()
  ) {
    session = URLSessionOwner(usesCookies: usesCookies)
    self.timeout = timeout
    self.maximumResponseSize = maximumResponseSize
    self.maximumRedirects = maximumRedirects
    self.clock = clock
  }

  /// Sends `request` with `body`, follows redirects, and returns the last response, whatever its
  /// status. Cancelling the task ends the exchange with `CancellationError`.
  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await TransferReport.reporting(progress, bodySize: body?.count ?? 0) { report in
      try await withDeadline(timeout, clock) {
        try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
          let transfer = URLSessionTransfer(method: request.method, maximumSize: maximumResponseSize, report: report)
          return try await owner(for: request).perform(request, body: body, transfer: transfer)
        }
      }
    }
  }

  /// Sends `request` with `body`, follows redirects, and returns the last response at its head,
  /// whatever its status.
  ///
  /// Each stream has its own connection. If more than 1 MiB of the body waits to be read, it
  /// ends with ``TransportError/tooManyUnread(limit:request:)``: `URLSession` cannot make the
  /// server wait.
  public func stream(_ request: HTTPRequest, body: Data?) async throws -> (HTTPResponse, ResponseBody) {
    var request = request
    if !request.headerFields.contains(.acceptEncoding) { request.headerFields[.acceptEncoding] = "identity" }
    return try await withDeadline(timeout, clock) { [request] in
      try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
        try await URLSessionStream.open(request, body: body, in: URLSessionOwner(like: session))
      }
    }
  }

  /// Returns the session for one exchange.
  ///
  /// On Linux, libcurl sends a request again by itself if a kept-alive connection breaks before the
  /// answer. A request that is not safe (RFC 9110 §9.2.1) gets a separate connection. A second
  /// DELETE would be answered by a 404, and a second PUT with `If-Match` by a 412.
  private func owner(for request: HTTPRequest) -> URLSessionOwner {
    #if canImport(FoundationNetworking)
      let isSafe = [.get, .head, .query, .options, .trace].contains(request.method)
      return isSafe ? session : URLSessionOwner(like: session)
    #else
      return session
    #endif
  }
}

extension URLRequest {
  /// Creates the request for `URLSession`.
  ///
  /// - Throws: ``ReactorError/invalidResource(_:)`` if `URLSession` cannot send the request.
  init(_ request: HTTPRequest, body: Data?) throws(ReactorError) {
    guard let scheme = request.scheme?.lowercased(), scheme == "http" || scheme == "https", request.url?.host != nil,
      var made = URLRequest(httpRequest: request)
    else {
      throw .invalidResource("the request needs an http or https URL with a host and a path")
    }
    if let body, !body.isEmpty {
      if request.method == .get {
        throw .invalidResource(
          "URLSession cannot send a body with GET; use POST or QUERY, or put the values into the query")
      }
      made.httpBody = body
    }
    #if canImport(FoundationNetworking)
      // Linux writes a field's text as UTF-8, Apple platforms write it as Latin-1.
      for name in Set(request.headerFields.map(\.name)) {
        made.setValue(request.headerFields[name], forHTTPHeaderField: name.rawName)
      }
      // Otherwise Linux requests English. `*` means the same as no field (RFC 9110 §12.5.4).
      if !request.headerFields.contains(.acceptLanguage) {
        made.setValue("*", forHTTPHeaderField: HTTPField.Name.acceptLanguage.rawName)
      }
    #endif
    self = made
  }
}

extension HTTPURLResponse {
  /// The status and the header fields, sorted by name; `nil` for an invalid status and for more
  /// fields than ``FieldLimit``.
  var received: HTTPResponse? {
    guard allHeaderFields.count <= FieldLimit.count else { return nil }
    #if canImport(FoundationNetworking)
      guard (0...999).contains(statusCode) else { return nil }
      var response = HTTPResponse(status: .init(code: statusCode))
      for case (let name as String, let value as String) in allHeaderFields {
        if let name = HTTPField.Name(name) { response.headerFields.append(HTTPField(name: name, value: value)) }
      }
    #else
      guard var response = httpResponse else { return nil }
    #endif
    response.headerFields = HTTPFields(response.headerFields.sorted { $0.name.rawName < $1.name.rawName })
    return response
  }
}

/// Runs `work`, and cancels it with ``ReactorError/timedOut`` once `timeout` has passed on `clock`.
package func withDeadline<Value: Sendable>(
  _ timeout: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard timeout > .zero else { throw ReactorError.timedOut }
  // About thirty years. A much longer timeout would overflow the clock's instant.
  guard timeout < .seconds(1_000_000_000) else { return try await work() }
  return try await withThrowingTaskGroup(of: Value.self) { group in
    group.addTask { try await work() }
    group.addTask {
      try await clock.sleep(for: timeout)
      throw ReactorError.timedOut
    }
    defer { group.cancelAll() }
    guard let value = try await group.next() else { throw CancellationError() }
    return value
  }
}

/// The limit of header fields in a message. `HTTPFields` traps at 65,535, and no server needs a
/// tenth of that.
package enum FieldLimit {
  package static let count = 4_096

  /// Checks the number of fields, before any `HTTPFields` is created.
  ///
  /// - Throws: ``TransportError/tooManyFields(limit:request:)`` beyond the limit.
  package static func check(_ count: Int) throws(TransportError) {
    guard count <= self.count else { throw .tooManyFields(limit: self.count) }
  }
}
