#if AsyncHTTPClient
  import AsyncHTTPClient
  import Foundation
  import HTTPTypes
  import ReactorAsyncHTTPClient
  import ReactorCore
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(1)))
  struct `AsyncHTTPClient bad answers` {
    static let abc = Data("abc".utf8)
    static let announced = LoopbackServer.Reply.head(200, [("Content-Length", "100")])

    static let cases: [(name: String, reply: LoopbackServer.Reply)] = [
      ("less than announced", .short(announcing: 100, body: abc)),
      ("nothing of what was announced", .short(announcing: 100, body: Data())),
      (
        "less than announced, compressed",
        .short(announcing: 100, body: Data([0x1f, 0x8b, 8, 0]), fields: [("Content-Encoding", "gzip")])
      ),
      ("no last chunk", .chunked([abc], isWhole: false)),
      ("closed before an answer", .close),
      ("reset before an answer", .reset()),
      ("reset in the body", .reset(after: announced + abc)),
      ("no HTTP", .raw("220 mail.example.com ready\r\n\r\n")),
      ("a status that is no number", .raw("HTTP/1.1 abc\r\n\r\n")),
      ("an interim response alone", .raw("HTTP/1.1 100 Continue\r\n\r\n")),
      ("no gzip in gzip", .text("this is no gzip", fields: [("Content-Encoding", "gzip")])),
    ]

    @Test(arguments: cases.indices)
    func `a broken answer is an error, and the next exchange works`(_ index: Int) async throws {
      let (name, reply) = Self.cases[index]
      try await LoopbackServer.run {
        $0.target == "/good" ? .text("good") : reply
      } body: { server async throws in
        let transport = AsyncHTTPClientTransport()
        let error = await #expect(throws: (any Error).self, "\(name)") { try await transport.send(server.request()) }
        #expect(!(error is CancellationError) && !(error is ReactorError), "\(name): \(error.map { "\($0)" } ?? "")")
        #expect(try await transport.send(server.request("/good")).1 == Data("good".utf8))
      }
    }

    @Test(arguments: [HTTPRequest.Method.post, .put])
    func `a request that changes something is sent once, whatever becomes of it`(
      method: HTTPRequest.Method
    ) async throws {
      try await LoopbackServer.run {
        $0.method == "GET" ? .text("x") : .close
      } body: { server in
        let transport = AsyncHTTPClientTransport()
        _ = try await transport.send(server.request())
        await #expect(throws: HTTPClientError.self) {
          try await transport.send(server.request(method: method), body: Self.abc)
        }
        #expect(server.received.filter { $0.method == method.rawValue }.count == 1)
      }
    }

    @Test(arguments: ["127.0.0.1", "does-not-exist.invalid"])
    func `nobody listening and a name that does not resolve are errors of the connection`(host: String) async throws {
      let port = try LoopbackServer.unusedPort()
      let request = HTTPRequest(method: .get, scheme: "http", authority: "\(host):\(port)", path: "/")
      let error = await #expect(throws: (any Error).self) { try await AsyncHTTPClientTransport().send(request) }
      #expect(error.map { ["IOError", "NIOConnectionError"].contains("\(type(of: $0))") } == true)
    }

    @Test func `an announced size beyond the limit ends the exchange before the body`() async throws {
      let hungUp = Latch()
      try await LoopbackServer.run { _ in
        .held(
          until: Latch(), hungUp: hungUp, sendingFirst: LoopbackServer.Reply.head(200, [("Content-Length", "1001")]))
      } body: { server in
        let transport = AsyncHTTPClientTransport(maximumResponseSize: 1_000)
        await #expect(throws: TransportError.responseTooLarge(limit: 1_000)) {
          try await transport.send(server.request())
        }
        try await hungUp.wait()
      }
    }

    @Test func `a body that grows beyond the limit ends the exchange`() async throws {
      let hungUp = Latch()
      let chunk = Data("1f4\r\n".utf8) + Data(repeating: 1, count: 500) + Data("\r\n".utf8)
      let start = LoopbackServer.Reply.head(200, [("Transfer-Encoding", "chunked")]) + chunk + chunk
      try await LoopbackServer.run { _ in
        .held(until: Latch(), hungUp: hungUp, sendingFirst: start + Data("1\r\nx\r\n".utf8))
      } body: { server in
        let transport = AsyncHTTPClientTransport(maximumResponseSize: 1_000)
        await #expect(throws: TransportError.responseTooLarge(limit: 1_000)) {
          try await transport.send(server.request())
        }
        try await hungUp.wait()
      }
    }

    @Test func `a body of exactly the limit is whole`() async throws {
      let body = Data(repeating: 1, count: 1_000)
      try await LoopbackServer.run {
        $0.target == "/chunked" ? .chunked([body]) : .status(200, body: body)
      } body: { server async throws in
        let transport = AsyncHTTPClientTransport(maximumResponseSize: 1_000)
        #expect(try await transport.send(server.request()).1 == body)
        #expect(try await transport.send(server.request("/chunked")).1 == body)
      }
    }
  }
#endif
