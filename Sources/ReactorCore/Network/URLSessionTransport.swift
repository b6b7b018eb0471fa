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
/// On Linux, Foundation ends the process where a server hangs up in the middle of its header fields. A program
/// that talks to servers which it does not trust uses another transport there.
public struct URLSessionTransport: Transport {
  private let session: URLSessionOwner
  private let timeout: Duration
  private let maximumResponseSize: Int
  private let maximumRedirects: Int
  private let clock: any Clock<Duration>

  /// - Parameters:
  ///   - timeout: how long one exchange may take as a whole, redirects and waiting for a connection included.
  ///     ``Swift/Duration/never``: as long as it takes.
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
    try await withDeadline {
      try await follow(request, body: body, progress: progress)
    }
  }

  /// Sends, and sends again where the answer says so.
  private func follow(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    var hop = URLSessionRedirect(request: request, body: body)
    var count = 0
    while true {
      let exchange = URLSessionExchange(
        method: hop.request.method, maximumSize: maximumResponseSize, progress: progress)
      let answer = try await session.perform(hop.request, body: hop.body, exchange: exchange)
      guard maximumRedirects > 0, let next = hop.next(after: answer.response) else {
        return (answer.response, answer.body)
      }
      count += 1
      guard count <= maximumRedirects else { throw TransportError.tooManyRedirects(limit: maximumRedirects) }
      hop = next
    }
  }

  /// Ends `work` with ``ReactorError/timedOut`` once `timeout` has passed.
  private func withDeadline<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value
  {
    guard timeout < Self.longestTimeout else { return try await work() }
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

  /// About thirty years. Adding much more to a clock's now overflows.
  private static let longestTimeout: Duration = .seconds(1_000_000_000)
}
