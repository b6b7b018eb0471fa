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
    try await TransferReport.telling(progress, bodySize: body?.count ?? 0) { report in
      try await withDeadline(timeout, clock) {
        try await Redirect.following(request, body: body, limit: maximumRedirects) { request, body in
          let exchange = URLSessionExchange(method: request.method, maximumSize: maximumResponseSize, report: report)
          return try await session.perform(request, body: body, exchange: exchange)
        }
      }
    }
  }
}
