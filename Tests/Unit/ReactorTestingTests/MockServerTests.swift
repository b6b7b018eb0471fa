import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A mock server` {
  private let transport = URLSessionTransport()

  private func send(
    _ path: String = "/a", method: HTTPRequest.Method = .get, headers: HTTPFields = [:], body: String? = nil,
    to server: MockServer
  ) async throws -> (status: Int, text: String, headers: HTTPFields) {
    let request = HTTPRequest(
      method: method, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path, headerFields: headers)
    let (response, data) = try await transport.send(request, body: body.map { Data($0.utf8) }, progress: { _ in })
    return (response.status.code, String(decoding: data, as: UTF8.self), response.headerFields)
  }

  @Test func `a mock server answers each request as its handler says, and records it`() async throws {
    try await MockServer.run {
      .text("\($0.method) \($0.target)", headers: [.eTag: "\"1\""])
    } body: { server in
      let answer = try await send("/a?b=%20c", method: .post, headers: [.cookie: "d"], body: "hello", to: server)
      #expect(answer.text == "POST /a?b=%20c" && answer.headers[.eTag] == "\"1\"")
      let request = try #require(server.requests.first)
      #expect(request.requestLine == "POST /a?b=%20c HTTP/1.1")
      #expect(request.method == "POST" && request.target == "/a?b=%20c" && request.body == Data("hello".utf8))
      #expect(request["cookie"] == "d" && request["Host"] == "127.0.0.1:\(server.port)" && request["Accept-Not"] == nil)
      #expect(request.headers.contains { $0.name.lowercased() == "content-length" && $0.value == "5" })
      #expect(server.url.absoluteString == "http://127.0.0.1:\(server.port)")
    }
  }

  @Test func `a mock server sends a path's responses in order, and repeats the last one`() async throws {
    let server = try MockServer()
    defer { server.stop() }
    server.answer("/a", with: .status(503), .json("[]"))
    server.answer("/a?b", with: .text("query"))
    var texts: [String] = []
    for path in ["/a", "/a?b", "/a?c", "/a", "/b"] {
      let answer = try await send(path, to: server)
      texts.append("\(answer.status) \(answer.text)")
    }
    #expect(texts == ["503 ", "200 query", "200 []", "200 []", "404 "])
    #expect(try await send("/a", to: server).headers[.contentType] == "application/json")
  }

  @Test func `a mock server keeps a connection open, unless the response closes it`() async throws {
    try await MockServer.run {
      $0.target == "/close" ? .text("x", headers: [.connection: "close"]) : .text("x")
    } body: { server in
      for _ in 0..<3 { _ = try await send(to: server) }
      #expect(server.acceptedConnections == 1)
      _ = try await send("/close", to: server)
      try await server.waitUntilDisconnected()
      _ = try await send(to: server)
      #expect(server.acceptedConnections == 2)
    }
  }

  @Test func `a mock server sends no body where HTTP has none, so that the next answer is understood`() async throws {
    try await MockServer.run {
      switch $0.target {
      case "/204": .status(204, body: Data("x".utf8))
      case "/304": .status(304, body: Data("x".utf8))
      case "/chunked": .chunked([Data("x".utf8)])
      default: .text("hello")
      }
    } body: { server in
      #expect(try await send("/a", method: .head, to: server).headers[.contentLength] == "5")
      for path in ["/chunked", "/204", "/304"] {
        let answer = try await send(path, method: path == "/chunked" ? .head : .get, to: server)
        #expect(answer.text == "", "\(path)")
        #expect(try await send(to: server).text == "hello", "after \(path)")
      }
      #expect(server.acceptedConnections == 1)
    }
  }

  @Test func `a mock server sends a body in chunks, except chunks that would be the last`() async throws {
    let pieces = ["one ", "", "two"].map { Data($0.utf8) }
    try await MockServer.run { _ in
      .chunked(pieces)
    } body: { server in
      let answer = try await send(to: server)
      #expect(answer.text == "one two")
    }
  }

  @Test(
    arguments: [
      ("short", .short(announcing: 9, body: Data("x".utf8))),
      ("no last chunk", .chunked([Data("x".utf8)], isWhole: false)),
      ("close", .close), ("reset", .reset()), ("reset in the body", .reset(after: Data("HTTP/1.1 200 OK\r\n".utf8))),
      ("raw", .raw("nonsense\r\n\r\n")),
    ] as [(String, MockServer.Response)])
  func `a mock server breaks off a scripted response, and answers other requests`(
    name: String, response: MockServer.Response
  ) async throws {
    try await MockServer.run {
      $0.target == "/good" ? .text("good") : response
    } body: { server async throws in
      await #expect(throws: (any Error).self) { try await send(to: server) }
      #expect(try await send("/good", to: server).text == "good")
    }
  }

  @Test func `a mock server's own redirect is followed`() async throws {
    try await MockServer.run {
      $0.target == "/a" ? .redirect(307, to: "/b") : .text($0.target)
    } body: { server in
      let answer = try await send(to: server)
      #expect(answer.text == "/b" && server.requests.count == 2)
    }
  }

  @Test func `a mock server links the pages of a list, over the wire`() async throws {
    let server = try MockServer()
    defer { server.stop() }
    server.answer(
      "/list", withPages: .json("[1]"), .chunked([Data("[2]".utf8)]), .json("[3]").held(at: Gate(isOpen: true)))
    let list = ModelLayer(baseURL: server.url).reactor([Int].self)
    var page = try await list.fetchResponse("list")
    var found = page.model
    while let next = try page.link(rel: "next") {
      page = try await list.fetchResponse(next)
      found += page.model
    }
    #expect(found == [1, 2, 3])
    #expect(server.requests.map(\.target) == ["/list", "/list?page=2", "/list?page=3"])
    #expect(try page.link(rel: "prev") != nil)
  }

  @Test func `a mock server holds a response until the gate opens`() async throws {
    let gate = Gate()
    try await MockServer.run { _ in
      .text("late").held(at: gate)
    } body: { server in
      async let answer = send(to: server).text
      try await gate.waitForArrival()
      try await server.waitForRequests()
      gate.open()
      #expect(try await answer == "late")
      _ = try await send(to: server)
      try await server.waitForRequests(count: 2)
      #expect(gate.waitingCount == 0)
    }
  }

  @Test(arguments: [true, false]) func `a mock server notices a client that leaves`(isSilent: Bool) async throws {
    let gate = Gate()
    try await MockServer.run { _ in
      isSilent ? .silence : .text("late").held(at: gate)
    } body: { server in
      let exchange = Task { try await send(to: server) }
      try await server.waitForRequests()
      exchange.cancel()
      await #expect(throws: CancellationError.self) { _ = try await exchange.value }
      try await server.waitUntilDisconnected()
    }
    #expect(!gate.isOpen)
  }

  @Test func `a stopped mock server frees its port`() async throws {
    let server = try MockServer { _ in .text("first") }
    #expect(try await send(to: server).text == "first")
    let error = #expect(throws: POSIXError.self) { try MockServer(port: server.port) }
    #expect(error?.code == .EADDRINUSE)
    #expect(server.stop() && server.stop())
    await #expect(throws: (any Error).self) { try await send(to: server) }
    let next = try MockServer(port: server.port) { _ in .text("second") }
    defer { next.stop() }
    #expect(try await send(to: next).text == "second")
    #expect(next.requests.count == 1)
  }

  @Test(arguments: [-1, 65_536]) func `a mock server has no port beyond those of TCP`(port: Int) {
    #expect(throws: POSIXError.self) { try MockServer(port: port) }
  }

  @Test func `a mock server stops when its body throws`() async throws {
    struct Failed: Error {}
    var server: MockServer?
    await #expect(throws: Failed.self) {
      try await MockServer.run { _ in
        .silence
      } body: {
        server = $0
        throw Failed()
      }
    }
    let stopped = try #require(server)
    await #expect(throws: (any Error).self) { try await send(to: stopped) }
  }
}
