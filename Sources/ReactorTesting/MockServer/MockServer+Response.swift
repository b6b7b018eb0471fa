public import Foundation
public import HTTPTypes
import ReactorCore

extension MockServer {
  /// The treatment of one request, good or bad.
  ///
  /// ```swift
  /// .json(#"[{"id": 1}]"#, headers: [.eTag: "\"1\""])
  /// .short(announcing: 100, body: Data("[1,".utf8))   // then the connection ends
  /// .text("late").held(at: gate)
  /// ```
  ///
  /// Each is sent in one write, those of ``chunked(_:headers:isWhole:)`` apart. No body is sent in answer to `HEAD`, or with
  /// the statuses 1xx, 204 and 304; the bytes of ``raw(_:)-(Data)`` and ``reset(after:)`` are sent as they are.
  public struct Response: Sendable {
    enum Step: Sendable {
      /// Head and body in one write. In answer to `HEAD` it is the head alone, and the last step.
      case respond(head: Data, body: Data)
      /// One write.
      case send(Data)
      /// Waits for the latch. `hungUp` opens where the client goes first, which ends the response.
      case hold(Latch, hungUp: Latch?)
      /// Waits at the gate.
      case pass(Gate)
      /// Ends the connection with RST instead of FIN.
      case reset
    }

    var steps: [Step]
    /// A Boolean value that indicates whether the connection takes another request after this one.
    var keepsAlive: Bool

    /// A status, with the body and its `Content-Length`, unless `headers` has another.
    public static func status(_ code: Int, headers: HTTPFields = [:], body: Data = Data()) -> Response {
      status(code, fields: pairs(headers), body: body)
    }

    /// A text, sent as UTF-8.
    public static func text(_ string: String, status code: Int = 200, headers: HTTPFields = [:]) -> Response {
      status(code, headers: headers, body: Data(string.utf8))
    }

    /// JSON text, sent as it is; the content type is set where `headers` names none.
    public static func json(_ string: String, status code: Int = 200, headers: HTTPFields = [:]) -> Response {
      var headers = headers
      if headers[.contentType] == nil { headers[.contentType] = "application/json" }
      return text(string, status: code, headers: headers)
    }

    /// A redirect to `location`, a URL or a path.
    public static func redirect(_ code: Int = 302, to location: String) -> Response {
      status(code, fields: [("Location", location)], body: Data("moved".utf8))
    }

    /// A body in chunks, each of them a write of its own.
    ///
    /// - Parameter isWhole: `false` leaves out the last chunk and closes the connection, so that the body ends early.
    public static func chunked(_ pieces: [Data], headers: HTTPFields = [:], isWhole: Bool = true) -> Response {
      var steps: [Step] = [.respond(head: head(200, [("Transfer-Encoding", "chunked")] + pairs(headers)), body: Data())]
      // A chunk of no bytes would be the last one.
      steps += pieces.filter { !$0.isEmpty }.map {
        .send(Data("\(String($0.count, radix: 16))\r\n".utf8) + $0 + Data("\r\n".utf8))
      }
      if isWhole { steps.append(.send(Data("0\r\n\r\n".utf8))) }
      return Response(steps: steps, keepsAlive: isWhole)
    }

    /// A 200 whose body ends early: the connection is closed after `body`.
    ///
    /// - Parameter length: the `Content-Length` in bytes, more than `body` has.
    public static func short(announcing length: Int, body: Data, headers: HTTPFields = [:]) -> Response {
      let head = head(200, [("Content-Length", "\(length)")] + pairs(headers))
      return Response(steps: [.respond(head: head, body: body)], keepsAlive: false)
    }

    /// These bytes instead of an HTTP response, and the end of the connection.
    public static func raw(_ bytes: Data) -> Response { Response(steps: [.send(bytes)], keepsAlive: false) }

    /// This text, as UTF-8, instead of an HTTP response, and the end of the connection.
    public static func raw(_ string: String) -> Response { raw(Data(string.utf8)) }

    /// The end of the connection instead of an answer.
    public static let close = Response(steps: [], keepsAlive: false)

    /// A connection that breaks off (RST) after `bytes`.
    public static func reset(after bytes: Data = Data()) -> Response {
      Response(steps: (bytes.isEmpty ? [] : [.send(bytes)]) + [.reset], keepsAlive: false)
    }

    /// Nothing, until the client closes the connection.
    public static var silence: Response { held(until: Latch(), then: close) }

    /// The same response, sent only when `gate` lets the request through. Nothing is sent where the client closes the
    /// connection before that.
    public func held(at gate: Gate) -> Response { Response(steps: [.pass(gate)] + steps, keepsAlive: keepsAlive) }
  }
}

/// Responses for this package's own tests, down to the bytes of a header field.
extension MockServer.Response {
  package static func status(_ code: Int, fields: [(String, String)], body: Data = Data()) -> Self {
    let hasBody = code >= 200 && code != 204 && code != 304
    let isAnnounced = fields.contains { $0.0.lowercased() == "content-length" }
    let length = hasBody && !isAnnounced ? [("Content-Length", "\(body.count)")] : []
    let closes = fields.contains { $0.lowercased() == "connection" && $1.lowercased() == "close" }
    return Self(
      steps: [.respond(head: head(code, length + fields), body: hasBody ? body : Data())], keepsAlive: !closes)
  }

  package static func text(_ string: String, fields: [(String, String)]) -> Self {
    status(200, fields: fields, body: Data(string.utf8))
  }

  /// The header alone, and the connection stays open.
  package static func head(_ code: Int, fields: [(String, String)]) -> Self {
    Self(steps: [.send(head(code, fields))], keepsAlive: true)
  }

  /// The header alone, as for `HEAD`.
  package static func head(announcing length: Int) -> Self {
    head(200, fields: [("Content-Length", "\(length)")])
  }

  /// These bytes, and the connection stays open.
  package static func kept(_ string: String) -> Self { Self(steps: [.send(Data(string.utf8))], keepsAlive: true) }

  package static func short(announcing length: Int, body: Data, fields: [(String, String)]) -> Self {
    raw(head(200, [("Content-Length", "\(length)")] + fields) + body)
  }

  /// Each piece a write of its own, sent when its latch is open, and then the end of the connection.
  package static func dripping(_ pieces: [(after: Latch, bytes: Data)]) -> Self {
    Self(steps: pieces.flatMap { [.hold($0.after, hungUp: nil), .send($0.bytes)] }, keepsAlive: false)
  }

  /// Sends `first`, then nothing until `latch` is open, then `rest`. `hungUp` opens where the client goes first.
  package static func held(
    until latch: Latch, hungUp: Latch? = nil, sendingFirst first: Data = Data(), then rest: Self = .text("held")
  ) -> Self {
    let start: [Step] = first.isEmpty ? [] : [.send(first)]
    return Self(steps: start + [.hold(latch, hungUp: hungUp)] + rest.steps, keepsAlive: rest.keepsAlive)
  }

  /// The status line and the header fields.
  package static func head(_ code: Int, _ fields: [(String, String)]) -> Data {
    let reason = (100...599).contains(code) ? HTTPResponse.Status(integerLiteral: code).reasonPhrase : ""
    let lines = ["HTTP/1.1 \(code) \(reason)"] + fields.map { "\($0.0): \($0.1)" }
    return Data((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }

  private static func pairs(_ headers: HTTPFields) -> [(String, String)] {
    headers.map { ($0.name.rawName, $0.value) }
  }
}

extension MockServer.Response {
  /// - Returns: `false` where the connection is over.
  func perform(on connection: Socket, for request: MockServer.Request) -> Bool {
    for step in steps {
      switch step {
      case .respond(let head, let body):
        if request.method == "HEAD" { return connection.send(head) }
        guard connection.send(head + body) else { return false }
      case .send(let data):
        guard connection.send(data) else { return false }
      case .hold(let latch, let hungUp):
        guard connection.wait(for: latch) else {
          hungUp?.open()
          return false
        }
      case .pass(let gate):
        guard Self.pass(gate, on: connection) else { return false }
      case .reset:
        connection.resetOnClose()
        return false
      }
    }
    return true
  }

  private static func pass(_ gate: Gate, on connection: Socket) -> Bool {
    let passed = Latch()
    let waiter = spawnApart(on: nil) {
      if (try? await gate.wait()) != nil { passed.open() }
    }
    defer { waiter.cancel() }
    return connection.wait(for: passed)
  }
}
