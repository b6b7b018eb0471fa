public import Foundation
public import HTTPTypes
import ReactorCore
package import ReactorLoopback

extension MockServer {
  /// The treatment of one request, good or bad.
  ///
  /// ```swift
  /// .json(#"[{"id": 1}]"#, headers: [.eTag: "\"1\""])
  /// .short(announcing: 100, body: Data("[1,".utf8))   // then the connection ends
  /// .text("late").held(at: gate)
  /// ```
  ///
  /// A response is sent in one write, except a ``chunked(_:headers:isWhole:)`` one. An answer to
  /// `HEAD` has no body, and neither has a status 1xx, 204 or 304. The bytes of ``raw(_:)-(Data)``
  /// and ``reset(after:)`` are sent as they are.
  public struct Response: Sendable {
    enum Step: Sendable {
      /// Sends head and body in one write. For `HEAD`, it sends only the head and is the last step.
      case respond(head: Data, body: Data)
      /// Sends bytes in one write.
      case send(Data)
      /// Waits for the latch. If the client disconnects first, `hungUp` opens and the response
      /// ends.
      case hold(Latch, hungUp: Latch?)
      /// Waits at the gate.
      case pass(Gate)
      /// Sends each piece of the body in a chunk, once the test has sent it.
      case stream(ScriptedBody)
      /// Ends the connection with RST instead of FIN.
      case reset
    }

    var steps: [Step]
    /// A Boolean value that indicates whether the connection accepts another request after this
    /// one.
    var keepsAlive: Bool

    /// A response with a status and a body. Its `Content-Length` is added unless `headers` has one.
    ///
    /// ```swift
    /// server.answer("/stories", with: .status(503, headers: [.retryAfter: "1"]), .json("[]"))
    /// ```
    public static func status(_ code: Int, headers: HTTPFields = [:], body: Data = Data()) -> Response {
      status(code, fields: pairs(headers), body: body)
    }

    /// A text, sent as UTF-8.
    public static func text(_ string: String, status code: Int = 200, headers: HTTPFields = [:]) -> Response {
      status(code, headers: headers, body: Data(string.utf8))
    }

    /// A response with JSON text, sent as it is. The content type is added unless `headers` has
    /// one.
    ///
    /// ```swift
    /// server.answer("/stories", with: .json(#"[{"id": 1}]"#))
    /// ```
    public static func json(_ string: String, status code: Int = 200, headers: HTTPFields = [:]) -> Response {
      var headers = headers
      if headers[.contentType] == nil { headers[.contentType] = "application/json" }
      return text(string, status: code, headers: headers)
    }

    /// A redirect to `location`, a URL or a path.
    ///
    /// ```swift
    /// server.answer("/old", with: .redirect(301, to: "/new"))
    /// ```
    public static func redirect(_ code: Int = 302, to location: String) -> Response {
      status(code, fields: [("Location", location)], body: Data("moved".utf8))
    }

    /// A response whose body is sent in chunks, each in a separate write.
    ///
    /// ```swift
    /// server.answer("/stories", with: .chunked([Data("[".utf8), Data("]".utf8)]))
    /// ```
    ///
    /// - Parameters:
    ///   - pieces: The chunks. Empty ones are left out, since an empty chunk ends a body.
    ///   - headers: The header fields.
    ///   - isWhole: Pass `false` to omit the last chunk and close the connection, so that the body
    ///     ends early.
    public static func chunked(_ pieces: [Data], headers: HTTPFields = [:], isWhole: Bool = true) -> Response {
      var steps: [Step] = [.respond(head: head(200, [("Transfer-Encoding", "chunked")] + pairs(headers)), body: Data())]
      // A chunk without bytes would be the last one (RFC 9112 §7.1).
      steps += pieces.filter { !$0.isEmpty }.map { .send(chunk($0)) }
      if isWhole { steps.append(.send(lastChunk)) }
      return Response(steps: steps, keepsAlive: isWhole)
    }

    /// A response whose body the test sends piece by piece, each in a chunk. The head is sent at
    /// once.
    ///
    /// ```swift
    /// let body = ScriptedBody()
    /// server.answer("/events", with: .streaming(body))
    /// ```
    ///
    /// After ``ScriptedBody/cutShort()``, the connection is closed without the last chunk. The
    /// response ends early if the client disconnects.
    public static func streaming(
      _ body: ScriptedBody, status code: Int = 200, headers: HTTPFields = [:]
    ) -> Response {
      let head = head(code, [("Transfer-Encoding", "chunked")] + pairs(headers))
      return Response(steps: [.respond(head: head, body: Data()), .stream(body)], keepsAlive: true)
    }

    /// A response with status 200 whose body ends early. The connection is closed after `body`.
    ///
    /// ```swift
    /// server.answer("/stories", with: .short(announcing: 100, body: Data("[1".utf8)))
    /// ```
    ///
    /// - Parameters:
    ///   - length: The `Content-Length` in bytes, larger than `body`.
    ///   - body: The bytes that are sent.
    ///   - headers: The header fields.
    public static func short(announcing length: Int, body: Data, headers: HTTPFields = [:]) -> Response {
      let head = head(200, [("Content-Length", "\(length)")] + pairs(headers))
      return Response(steps: [.respond(head: head, body: body)], keepsAlive: false)
    }

    /// Bytes in place of an HTTP response. The connection is closed after them.
    public static func raw(_ bytes: Data) -> Response { Response(steps: [.send(bytes)], keepsAlive: false) }

    /// Text in place of an HTTP response, sent as UTF-8. The connection is closed after it.
    ///
    /// ```swift
    /// server.answer("/stories", with: .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"))
    /// ```
    public static func raw(_ string: String) -> Response { raw(Data(string.utf8)) }

    /// The end of the connection, without an answer.
    public static let close = Response(steps: [], keepsAlive: false)

    /// A connection that breaks (RST) after `bytes`.
    public static func reset(after bytes: Data = Data()) -> Response {
      Response(steps: (bytes.isEmpty ? [] : [.send(bytes)]) + [.reset], keepsAlive: false)
    }

    /// No answer. The connection stays open until the client closes it.
    ///
    /// ```swift
    /// server.answer("/stories", with: .silence)  // for the test of a timeout
    /// ```
    public static var silence: Response { held(until: Latch(), then: close) }

    /// Returns the same response, with a link to another page in its `Link` field (RFC 8288). Bytes
    /// of ``raw(_:)-(Data)`` stay as they are.
    ///
    /// - Parameters:
    ///   - target: The URL or path of the page, such as `/stories?page=2`.
    ///   - relation: The relation: `next`, the default, `prev`, `first` or `last`.
    public func link(_ target: String, rel relation: String = "next") -> Response {
      let steps = steps.map { step in
        guard case .respond(let head, let body) = step else { return step }
        let field = Data("Link: \(PageTarget.link(target, relation))\r\n".utf8)
        // Before the empty line that ends the head.
        return .respond(head: head.dropLast(2) + field + head.suffix(2), body: body)
      }
      return Response(steps: steps, keepsAlive: keepsAlive)
    }

    /// Returns the same response, held back until `gate` lets the request through. Nothing is sent
    /// if the client closes the connection before that.
    ///
    /// ```swift
    /// server.answer("/stories", with: .json("[]").held(at: gate))
    /// ```
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

  /// Only the head. The connection stays open.
  package static func head(_ code: Int, fields: [(String, String)]) -> Self {
    Self(steps: [.send(head(code, fields))], keepsAlive: true)
  }

  /// Only the head, as for `HEAD`.
  package static func head(announcing length: Int) -> Self {
    head(200, fields: [("Content-Length", "\(length)")])
  }

  /// Text in place of an HTTP response. The connection stays open.
  package static func kept(_ string: String) -> Self { Self(steps: [.send(Data(string.utf8))], keepsAlive: true) }

  package static func short(announcing length: Int, body: Data, fields: [(String, String)]) -> Self {
    raw(head(200, [("Content-Length", "\(length)")] + fields) + body)
  }

  /// Pieces that are sent one by one, each when its latch is open. The connection is closed after
  /// them.
  package static func dripping(_ pieces: [(after: Latch, bytes: Data)]) -> Self {
    Self(steps: pieces.flatMap { [.hold($0.after, hungUp: nil), .send($0.bytes)] }, keepsAlive: false)
  }

  /// Sends `first`, waits until `latch` is open, then sends `rest`. `hungUp` opens if the client
  /// disconnects first.
  package static func held(
    until latch: Latch, hungUp: Latch? = nil, sendingFirst first: Data = Data(), then rest: Self = .text("held")
  ) -> Self {
    let start: [Step] = first.isEmpty ? [] : [.send(first)]
    return Self(steps: start + [.hold(latch, hungUp: hungUp)] + rest.steps, keepsAlive: rest.keepsAlive)
  }

  /// The bytes of the status line and the header fields.
  package static func head(_ code: Int, _ fields: [(String, String)]) -> Data { ResponseHead.bytes(code, fields) }

  private static func chunk(_ piece: Data) -> Data {
    Data("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Data("\r\n".utf8)
  }

  private static let lastChunk = Data("0\r\n\r\n".utf8)

  private static func pairs(_ headers: HTTPFields) -> [(String, String)] {
    headers.map { ($0.name.rawName, $0.value) }
  }
}

extension MockServer.Response {
  /// Performs the steps of the response.
  ///
  /// - Returns: `false` if the connection is closed.
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
        guard Self.waiting(on: connection, { try await gate.wait() }) != nil else { return false }
      case .stream(let body):
        guard Self.send(body, on: connection) else { return false }
      case .reset:
        connection.resetOnClose()
        return false
      }
    }
    return true
  }

  /// Sends the pieces of `body` as they come.
  ///
  /// - Returns: `false` if the body ends early, or the client has disconnected.
  private static func send(_ body: ScriptedBody, on connection: Socket) -> Bool {
    var index = 0
    while let event = waiting(on: connection, { [index] in try await body.event(at: index) }) {
      switch event {
      case .piece(let data): guard connection.send(chunk(data)) else { return false }
      case .end: return connection.send(lastChunk)
      case .loss: return false
      }
      index += 1
    }
    return false
  }

  /// Returns the result of `work`; `nil` if it throws or the client disconnects first.
  private static func waiting<Result: Sendable>(
    on connection: Socket, _ work: @escaping @Sendable () async throws -> Result
  ) -> Result? {
    let (ended, result) = (Latch(), Shared<Result?>(nil))
    let waiter = spawnApart(on: nil) {
      guard let value = try? await work() else { return }
      result.change { $0 = value }
      ended.open()
    }
    defer { waiter.cancel() }
    return connection.wait(for: ended) ? result.value : nil
  }
}
