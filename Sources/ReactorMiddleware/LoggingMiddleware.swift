public import Foundation
import HTTPCaching
public import HTTPTypes
public import ReactorCore

/// Reports each exchange after it has ended. As `Backend.logging` it is innermost, and reports
/// each attempt.
///
/// ```swift
/// let backend = Backend(baseURL: api, logging: LoggingMiddleware { entry in print(entry) })
/// ```
public struct LoggingMiddleware: TransportMiddleware, QueryHiding {
  /// The report of an exchange. It holds no header field and no body, and of the query no value but
  /// the numbers of paging items.
  public struct Entry: Sendable, Hashable, CustomStringConvertible {
    /// The request's method.
    public let method: HTTPRequest.Method
    /// The request's URL. Of its query, it shows the names of the items, and the numbers of paging
    /// items: `?q=…&page=2`. An item that has no name is `…`.
    public let url: String
    /// The size of the request's body in bytes.
    public let sent: Int
    /// The result of the exchange.
    public let outcome: Outcome
    /// The time from the request to the end of the response or the failure.
    public let duration: Duration

    /// The result of an exchange.
    public enum Outcome: Sendable, Hashable {
      /// A response has arrived, with a body of `bytes` bytes.
      case response(status: Int, bytes: Int)
      /// The exchange has failed. The text describes the error without the values that it carries.
      case failure(String)
    }

    public var description: String {
      switch outcome {
      case .response(let status, let bytes): "\(method) \(url), \(sent) bytes: \(status), \(bytes) bytes in \(duration)"
      case .failure(let reason): "\(method) \(url), \(sent) bytes: \(reason) after \(duration)"
      }
    }
  }

  /// The names of query items that page through a list, in lower case.
  public static let pagingItems: Set<String> = [
    "after", "before", "count", "cursor", "first", "last", "limit", "offset", "page", "page[limit]", "page[number]",
    "page[offset]", "page[size]", "page_size", "pagesize", "per_page", "perpage", "size", "skip", "start", "take",
  ]

  private let elapsed: @Sendable () -> Duration
  private let numbers: Set<String>
  /// The names of query items whose values are never shown, in lower case.
  private var secrets: Set<String>
  private let sink: @Sendable (Entry) -> Void

  /// Creates a middleware that reports to `sink`.
  ///
  /// - Parameters:
  ///   - clock: the clock that measures durations.
  ///   - numbers: the names of the query items, in any case, whose values are shown if they are
  ///     numbers of at most nine digits. The layer's `ReactorConfiguration.secretQueryItems` are
  ///     never shown. Default: ``pagingItems``; none with `[]`.
  ///   - sink: called once for each exchange, on the task of the request. It must return quickly.
  public init(
    clock: any Clock<Duration> = ContinuousClock(), numbers: Set<String> = LoggingMiddleware.pagingItems,
    _ sink: @escaping @Sendable (Entry) -> Void
  ) {
    elapsed = clock.stopwatch()
    self.numbers = Set(numbers.map { $0.lowercased() })
    secrets = SecretQuery.defaultNames
    self.sink = sink
  }

  /// Returns the same middleware, which does not show the values of `names` either.
  package func hiding(_ names: Set<String>) -> LoggingMiddleware {
    var copy = self
    copy.secrets.formUnion(names.map { $0.lowercased() })
    return copy
  }

  /// Passes the exchange on unchanged, and reports its result.
  public func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    let start = elapsed()
    do {
      let answer = try await next(request, body)
      log(request, body, .response(status: answer.0.status.code, bytes: answer.1.count), since: start)
      return answer
    } catch {
      log(request, body, .failure(ReactorError(error, wrap: ReactorError.network).reason), since: start)
      throw error
    }
  }

  private func log(_ request: HTTPRequest, _ body: Data?, _ outcome: Entry.Outcome, since start: Duration) {
    let path = request.path ?? ""
    let visible = path.prefix { $0 != "?" && $0 != "#" }
    sink(
      Entry(
        method: request.method,
        url: SecretQuery.redact(
          text: "\(request.scheme ?? "")://\(request.authority ?? "")\(visible)", isURL: true, with: "…")
          + LoggedQuery(path: path, numbers: numbers, secrets: secrets).text,
        sent: body?.count ?? 0, outcome: outcome, duration: elapsed() - start))
  }
}
