public import Foundation
public import HTTPTypes

/// Tells of each exchange when it is over; put innermost, of each attempt.
public struct LoggingMiddleware: TransportMiddleware {
  /// What may be said of an exchange: no header field, no body, and of the URL neither the query nor a fragment.
  public struct Entry: Sendable, Hashable, CustomStringConvertible {
    public let method: HTTPRequest.Method
    /// `?…` stands for a query.
    public let url: String
    /// Bytes of the request's body.
    public let sent: Int
    public let outcome: Outcome
    public let duration: Duration

    public enum Outcome: Sendable, Hashable {
      case response(status: Int, bytes: Int)
      /// The error in its own words, without what it carries.
      case failure(String)
    }

    public var description: String {
      switch outcome {
      case .response(let status, let bytes): "\(method) \(url), \(sent) bytes: \(status), \(bytes) bytes in \(duration)"
      case .failure(let reason): "\(method) \(url), \(sent) bytes: \(reason) after \(duration)"
      }
    }
  }

  private let elapsed: @Sendable () -> Duration
  private let sink: @Sendable (Entry) -> Void

  /// - Parameters:
  ///   - clock: what measures.
  ///   - sink: called once for each exchange, on the task of the request. It must be quick.
  public init(
    clock: any Clock<Duration> = ContinuousClock(), _ sink: @escaping @Sendable (Entry) -> Void
  ) {
    elapsed = clock.stopwatch()
    self.sink = sink
  }

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
          + (visible.endIndex < path.endIndex ? "?…" : ""),
        sent: body?.count ?? 0, outcome: outcome, duration: elapsed() - start))
  }
}

/// Names the program in requests that name none (RFC 9110 §10.1.5).
struct UserAgentMiddleware: TransportMiddleware {
  private let userAgent: String

  /// - Parameter userAgent: product and version, as in `Newsroom/1.0`. A character that no header field can hold becomes a space.
  init(_ userAgent: String) { self.userAgent = userAgent }

  func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
    guard !request.headerFields.contains(.userAgent) else { return try await next(request, body) }
    var request = request
    request.headerFields[.userAgent] = userAgent
    return try await next(request, body)
  }
}
