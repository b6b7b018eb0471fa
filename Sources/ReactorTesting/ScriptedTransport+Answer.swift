public import Foundation
public import HTTPTypes

extension ScriptedTransport {
  /// What one request gets, and when.
  ///
  /// ```swift
  /// .json(#"[{"id": 1}]"#, headers: [.eTag: "\"1\""])
  /// .failure(URLError(.timedOut)).held(at: gate)
  /// .json(#"[{"id": 1}]"#).delayed(by: .seconds(2), on: clock).cutShort(after: 4)
  /// ```
  public struct Answer: Sendable {
    enum Outcome: Sendable {
      case response(HTTPResponse, Data)
      case failure(any Error)
    }

    let outcome: Outcome
    var gate: Gate?
    var ignoresCancellation = false
    var delay: Delay?
    var bodyDelay: Delay?
    /// How many bytes of the body come before the connection breaks.
    var cut: Int?

    struct Delay: Sendable {
      let duration: Duration
      let clock: any Clock<Duration>

      func pass() async throws { try await clock.sleep(for: max(duration, .zero)) }
    }

    /// A response, whatever its status.
    public static func response(
      _ status: HTTPResponse.Status = .ok, headers: HTTPFields = [:], body: Data = Data()
    ) -> Answer {
      Answer(outcome: .response(HTTPResponse(status: status, headerFields: headers), body))
    }

    /// A response with a body of JSON text, sent as it is; the content type is set where `headers` names none.
    public static func json(
      _ body: String, status: HTTPResponse.Status = .ok, headers: HTTPFields = [:]
    ) -> Answer {
      var headers = headers
      if headers[.contentType] == nil { headers[.contentType] = "application/json" }
      return response(status, headers: headers, body: Data(body.utf8))
    }

    /// The transport's own error.
    public static func failure(_ error: any Error) -> Answer { Answer(outcome: .failure(error)) }

    /// The same answer, given only when `gate` lets the request through.
    ///
    /// - Parameter ignoresCancellation: whether a request whose task is cancelled stays at the gate and is answered all
    ///   the same, late. By default it ends at once with `CancellationError`.
    public func held(at gate: Gate, ignoresCancellation: Bool = false) -> Answer {
      var answer = self
      answer.gate = gate
      answer.ignoresCancellation = ignoresCancellation
      return answer
    }

    /// The same answer, given `duration` later: once its gate has let the request through, where it has one.
    public func delayed(by duration: Duration, on clock: any Clock<Duration>) -> Answer {
      var answer = self
      answer.delay = Delay(duration: duration, clock: clock)
      return answer
    }

    /// The same answer, whose body comes `duration` after its head.
    public func bodyDelayed(by duration: Duration, on clock: any Clock<Duration>) -> Answer {
      var answer = self
      answer.bodyDelay = Delay(duration: duration, clock: clock)
      return answer
    }

    /// The same response, whose connection breaks after `bytes` of the body: progress up to there, then
    /// `TransportError.connectionFailed(_:)`. It is never a shorter success, not even where the body has no more bytes.
    ///
    /// - Parameter bytes: within 0 and the size of the body.
    public func cutShort(after bytes: Int) -> Answer {
      var answer = self
      answer.cut = bytes
      return answer
    }
  }

  /// A request that no script answers.
  public struct Unscripted: Error, CustomStringConvertible {
    public let method: HTTPRequest.Method
    public let path: String
    public var description: String { "nothing is scripted for \(method.rawValue) \(path)" }
  }
}

extension ScriptedTransport.Answer {
  // The spelling of this package's own tests.
  package static func response(
    _ status: HTTPResponse.Status = .ok, fields: HTTPFields, body: Data = Data()
  ) -> Self { response(status, headers: fields, body: body) }

  package static func json(_ body: String, status: HTTPResponse.Status = .ok, fields: HTTPFields) -> Self {
    json(body, status: status, headers: fields)
  }
}
