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
/// It stores nothing: no `URLCache`, no credentials, and no cookies unless told to. Copies share one session with its
/// connections, which is closed when the last copy is gone.
///
/// Compressed bodies are decoded by the platform; the response then has neither `Content-Encoding` nor
/// `Content-Length`. Fields that occur several times come as one, joined by commas, in the order of their names.
///
/// It throws `CancellationError`, ``ReactorError/timedOut``, ``ReactorError/noConnectivity``,
/// ``ReactorError/invalidResource(_:)``, ``TransportError``, and for the rest the platform's `URLError`: a body that
/// ends early is `URLError.networkConnectionLost`, never a short success.
///
/// On Linux, Foundation ends the process where a server hangs up in the middle of its header fields, or sends fields
/// after the last chunk of a body. Nothing can catch that. A program that talks to servers which it does not trust uses
/// another transport there: see <doc:Transports>.
public struct URLSessionTransport: Transport {
  private let session: URLSessionOwner
  private let timeout: Duration
  private let maximumResponseSize: Int
  private let maximumRedirects: Int
  private let clock: any Clock<Duration>

  /// - Parameters:
  ///   - timeout: how long one exchange may take as a whole, redirects and waiting for a connection included.
  ///     `Duration.never`: as long as it takes.
  ///   - maximumResponseSize: in bytes of the decoded body. The exchange is stopped as soon as it is known to exceed it.
  ///   - maximumRedirects: how many are followed. Zero: none, and the redirect is the response.
  ///   - usesCookies: whether cookies are kept, in memory and for this transport alone.
  ///   - clock: by which `timeout` is measured.
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

  public func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    try await TransferReport.reporting(progress, bodySize: body?.count ?? 0) { report in
      try await withDeadline(timeout, clock) {
        try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
          let transfer = URLSessionTransfer(method: request.method, maximumSize: maximumResponseSize, report: report)
          return try await session.perform(request, body: body, transfer: transfer)
        }
      }
    }
  }
}

extension URLRequest {
  /// - Throws: ``ReactorError/invalidResource(_:)`` for what `URLSession` cannot send.
  init(_ request: HTTPRequest, body: Data?) throws(ReactorError) {
    guard let scheme = request.scheme?.lowercased(), scheme == "http" || scheme == "https", request.url?.host != nil,
      var made = URLRequest(httpRequest: request)
    else {
      throw .invalidResource("the request needs http or https, a host and a path")
    }
    if let body, !body.isEmpty {
      if request.method == .get {
        throw .invalidResource("URLSession sends no body with GET; use POST or QUERY, or the query")
      }
      made.httpBody = body
    }
    #if canImport(FoundationNetworking)
      // Linux writes a field's text as UTF-8, where Apple platforms write it as Latin-1.
      for name in Set(request.headerFields.map(\.name)) {
        made.setValue(request.headerFields[name], forHTTPHeaderField: name.rawName)
      }
    #endif
    self = made
  }
}

extension HTTPURLResponse {
  /// Status and fields, in the order of their names; `nil` for what is no status, and for more fields than ``FieldLimit``.
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

/// Ends `work` with ``ReactorError/timedOut`` once `timeout` has passed on `clock`.
package func withDeadline<Value: Sendable>(
  _ timeout: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  guard timeout > .zero else { throw ReactorError.timedOut }
  // About thirty years. Adding much more to a clock's now overflows.
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

/// How many header fields a message may have. `HTTPFields` ends the process at 65,535, and no server has use for a tenth of that.
package enum FieldLimit {
  package static let count = 4_096

  /// - Throws: ``TransportError/tooManyFields(limit:)``, before there are any `HTTPFields`.
  package static func check(_ count: Int) throws(TransportError) {
    guard count <= self.count else { throw .tooManyFields(limit: self.count) }
  }
}
