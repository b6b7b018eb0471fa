public import Foundation
public import HTTPTypes

extension ScriptedTransport {
  /// The answer to one request, and its timing.
  ///
  /// ```swift
  /// .json(#"[{"id": 1}]"#, headers: [.eTag: "\"1\""])
  /// .failure(URLError(.timedOut)).held(at: gate)
  /// .json(#"[{"id": 1}]"#).delayed(by: .seconds(2), on: clock).cutShort(after: 4)
  /// ```
  public struct Answer: Sendable {
    enum Outcome: Sendable {
      case response(HTTPResponse, Data)
      case stream(HTTPResponse, ScriptedBody)
      case failure(any Error)
    }

    var outcome: Outcome
    var gate: Gate?
    var ignoresCancellation = false
    var delay: Delay?
    var bodyDelay: Delay?
    /// The number of bytes of the body after which the connection breaks.
    var cut: Int?

    struct Delay: Sendable {
      let duration: Duration
      let clock: any Clock<Duration>

      func pass() async throws { try await clock.sleep(for: max(duration, .zero)) }
    }

    /// A response of any status.
    ///
    /// ```swift
    /// transport.answer("/stories", with: .response(.notModified, headers: [.eTag: #""v1""#]))
    /// ```
    public static func response(
      _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: Data = Data()
    ) -> Answer {
      Answer(outcome: .response(HTTPResponse(status: status, headerFields: headers), body))
    }

    /// A response with JSON text, sent as it is. The content type is added unless `headers` has
    /// one.
    ///
    /// ```swift
    /// transport.answer(
    ///   "/stories", with: .json("[]", headers: [.cacheControl: "max-age=60"]))
    /// ```
    public static func json(
      _ body: String, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Answer {
      var headers = headers
      if headers[.contentType] == nil { headers[.contentType] = "application/json" }
      return response(status, headers: headers, body: Data(body.utf8))
    }

    /// A failure of the transport. The call throws `error`.
    ///
    /// ```swift
    /// transport.answer("/articles", with: .failure(URLError(.timedOut)), .json("[]"))
    /// ```
    public static func failure(_ error: any Error) -> Answer { Answer(outcome: .failure(error)) }

    /// Returns the same response, with a link to another page in its `Link` field (RFC 8288).
    ///
    /// - Parameters:
    ///   - target: The URL or path of the page, such as `/v1/stories?page=2`.
    ///   - relation: The relation: `next`, the default, `prev`, `first` or `last`.
    public func link(_ target: String, rel relation: String = "next") -> Answer {
      guard case .response(var response, let body) = outcome else { return self }
      response.headerFields.addLink(target, relation)
      var answer = self
      answer.outcome = .response(response, body)
      return answer
    }

    /// Returns the same answer, held back until `gate` lets the request through.
    ///
    /// ```swift
    /// transport.answer("/articles", with: .json("[]").held(at: gate))
    /// ```
    ///
    /// - Parameters:
    ///   - gate: The gate at which the request waits.
    ///   - ignoresCancellation: A Boolean value that indicates whether a cancelled request stays at
    ///     the gate and is answered late. By default it ends at once with `CancellationError`.
    public func held(at gate: Gate, ignoresCancellation: Bool = false) -> Answer {
      var answer = self
      answer.gate = gate
      answer.ignoresCancellation = ignoresCancellation
      return answer
    }

    /// Returns the same answer, delayed by `duration`. The delay begins after the gate, if there is
    /// one.
    ///
    /// ```swift
    /// let clock = TestClock()
    /// transport.answer("/stories", with: .json("[]").delayed(by: .seconds(3), on: clock))
    /// try await clock.waitForSleeper(for: .seconds(3))
    /// ```
    public func delayed(by duration: Duration, on clock: any Clock<Duration>) -> Answer {
      var answer = self
      answer.delay = Delay(duration: duration, clock: clock)
      return answer
    }

    /// Returns the same answer, with `duration` between its head and its body.
    public func bodyDelayed(by duration: Duration, on clock: any Clock<Duration>) -> Answer {
      var answer = self
      answer.bodyDelay = Delay(duration: duration, clock: clock)
      return answer
    }

    /// Returns the same response, with a connection that breaks after `bytes` of the body.
    ///
    /// ```swift
    /// transport.answer("/articles", with: .json("[1, 2]").cutShort(after: 3))
    /// ```
    ///
    /// The call reports progress up to there and throws
    /// `TransportError.connectionFailed(_:request:)`. It never returns a shorter body, even if
    /// `bytes` is the size of the body.
    ///
    /// - Parameter bytes: The number of bytes before the break, clamped to the size of the body.
    public func cutShort(after bytes: Int) -> Answer {
      var answer = self
      answer.cut = bytes
      return answer
    }
  }

  /// The error for a request without a scripted answer.
  public struct Unscripted: Error, CustomStringConvertible {
    /// The method of the request.
    public let method: HTTPRequest.Method
    /// The path of the request, with the query.
    public let path: String
    public var description: String {
      "no answer is scripted for \(method.rawValue) \(path); add one to the ScriptedTransport"
    }
  }
}

extension ScriptedTransport.Answer {
  // Spelling for the tests of this package.
  package static func response(
    _ status: HTTPResponse.Status = .ok, fields: HTTPFields, body: Data = Data()
  ) -> Self { response(status, headers: fields, body: body) }

  package static func json(_ body: String, status: HTTPResponse.Status = .ok, fields: HTTPFields) -> Self {
    json(body, status: status, headers: fields)
  }
}
