import Foundation
import HTTPTypes
import ReactorMiddleware
import ReactorTesting
import Synchronization
import TestSupport
import Testing

@testable import ReactorCore

@Suite(.timeLimit(.minutes(1))) struct `A stream of a backend` {
  private let transport = ScriptedTransport()
  private let body = ScriptedBody()

  private func backend(_ middlewares: any TransportMiddleware..., signing: BearerToken? = nil) -> Backend {
    Backend(baseURL: Bench.url, transport: transport, authentication: signing, middlewares: middlewares)
  }

  private struct Handler: TransportMiddleware {
    let handle: @Sendable (HTTPRequest, Data?, Next) async throws -> (HTTPResponse, Data)

    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      try await handle(request, body, next)
    }
  }

  private func error(of work: () async throws -> some Any) async -> ReactorError? {
    await #expect(throws: ReactorError.self) { _ = try await work() }
  }

  @Test func `a stream of a backend begins at the head, and has each piece as it comes`() async throws {
    transport.answer("/v1/notes", with: .streaming(body, headers: [.contentType: "text/event-stream"]))
    let resource = Resource("notes", headers: [.accept: "text/event-stream"])
    let stream = try await backend().stream(for: resource)
    #expect(stream.response.headerFields[.contentType] == "text/event-stream")
    #expect(stream.url == URL(string: "https://api.example.com/v1/notes"))
    var pieces = stream.body.makeAsyncIterator()
    for text in ["a", "bc"] {
      body.send(text)
      #expect(try await pieces.next(isolation: nil) == ArraySlice(text.utf8))
    }
    body.finish()
    #expect(try await pieces.next(isolation: nil) == nil)
    try await transport.waitUntilIdle()
    #expect(transport.cancellationCount == 0)
    #expect(transport.requests.map { $0.request.headerFields[.accept] } == ["text/event-stream"])
  }

  @Test func `a stream of a backend is signed, and opened once more after a 401`() async throws {
    transport.answer("/v1/notes", with: .response(.unauthorized, body: Data("expired".utf8)), .streaming(body))
    let token = BearerToken(.init("1", refreshToken: "r"), origins: [Bench.url]) { _ in .init("2") }
    let stream = try await backend(signing: token).stream(for: Resource("notes", method: .post, json: "?"))
    #expect(transport.requests.map { $0.request.headerFields[.authorization] } == ["Bearer 1", "Bearer 2"])
    #expect(transport.requests.map(\.body) == [Data("\"?\"".utf8), Data("\"?\"".utf8)])
    body.send("x")
    body.finish()
    #expect(try await whole(stream.body) == Data("x".utf8))
  }

  @Test func `another status than a success is thrown with the start of its body, and ends the exchange`() async {
    let long = Data(repeating: 65, count: 100_000)
    transport.answer(
      "/v1/notes", with: .response(.forbidden, body: Data("no".utf8)), .streaming(body, status: .notFound))
    guard case .server(let response, let short)? = await error(of: { try await backend().stream(for: "notes") }) else {
      Issue.record("expected an error of the server")
      return
    }
    #expect(response.status == .forbidden && short == Data("no".utf8))
    body.send(long)
    let cut = await error { try await backend().stream(for: "notes") }
    guard case .server(_, let start)? = cut else {
      Issue.record("expected an error of the server")
      return
    }
    #expect(start == long.prefix(65_536))
    #expect(cut?.request == "GET api.example.com/v1/notes")
    #expect(transport.inFlight == 0)
  }

  @Test func `the body of an error that does not end is read for ten seconds`() async throws {
    transport.answer("/v1/notes", with: .streaming(body, status: .internalServerError))
    body.send("down")
    let clock = TestClock()
    let task = Task { [backend = backend()] in try await backend.stream(for: "notes", clock: clock) }
    try await clock.waitForSleepers()
    try await transport.waitForRequests()
    clock.advance(by: .seconds(10))
    let failure = await error { try await task.value }
    guard case .server(let response, _)? = failure else {
      Issue.record("expected an error of the server")
      return
    }
    #expect(response.status == .internalServerError)
    try await transport.waitUntilIdle()
  }

  @Test func `a transport without streams is an error, and nothing is sent`() async throws {
    struct Whole: Transport {
      func send(
        _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
      ) async throws -> (HTTPResponse, Data) {
        Issue.record("the request was sent")
        throw CancellationError()
      }
    }
    let failure = await error { try await Backend(baseURL: Bench.url, transport: Whole()).stream(for: "notes") }
    guard case .streamingUnsupported? = failure else {
      Issue.record("expected streamingUnsupported")
      return
    }
    #expect("\(try #require(failure))".contains("StreamingTransport"))
  }

  @Test func `a stream of a backend ends with its caller, its reader, and its release`() async throws {
    let gate = Gate()
    transport.answer("/v1/notes", with: .streaming(body).held(at: gate), .streaming(body))
    let opening = Task { [backend = backend()] in try await backend.stream(for: "notes") }
    try await gate.waitForArrival()
    opening.cancel()
    guard case .cancelled? = await error(of: { try await opening.value }) else {
      Issue.record("expected a cancellation")
      return
    }
    let started = Gate()
    let stream = try await backend().stream(for: "notes")
    let reading = Task {
      var pieces = stream.body.makeAsyncIterator()
      _ = try await pieces.next(isolation: nil)
      started.open()
      return try await pieces.next(isolation: nil)
    }
    body.send("x")
    try await started.wait()
    reading.cancel()
    guard case .cancelled? = await error(of: { try await reading.value }) else {
      Issue.record("expected a cancellation")
      return
    }
    _ = try await backend().stream(for: "notes")
    for try await _ in try await backend().stream(for: "notes").body { break }
    try await transport.waitUntilIdle()
    #expect(transport.cancellationCount == 4)
  }

  @Test func `a body that ends early is an error that names the request`() async throws {
    transport.answer("/v1/notes", with: .streaming(body))
    let stream = try await backend().stream(for: Resource("notes", query: ["q": "secret"]))
    body.send("x")
    body.cutShort()
    let failure = await error { try await whole(stream.body) }
    guard case .network(TransportError.connectionFailed)? = failure else {
      Issue.record("expected a lost connection")
      return
    }
    #expect(failure?.request == "GET api.example.com/v1/notes")
  }

  @Test func `a second reader is an error, and the first reads on`() async throws {
    transport.answer("/v1/notes", with: .streaming(body))
    let stream = try await backend().stream(for: "notes")
    var pieces = stream.body.makeAsyncIterator()
    guard case .invalidResource? = await error(of: { try await whole(stream.body) }) else {
      Issue.record("expected an error")
      return
    }
    body.send("x")
    #expect(try await pieces.next(isolation: nil) == ArraySlice("x".utf8))
  }
}

extension `A stream of a backend` {
  @Test func `a middleware sees the head, and may change it, answer by itself, or open another`() async throws {
    let (first, second) = (ScriptedBody(), ScriptedBody())
    transport.answer("/v1/notes", with: .streaming(first), .streaming(second))
    let head = Handler { request, body, next in
      var (response, data) = try await next(request, body)
      #expect(data.isEmpty)
      response.headerFields[.via] = "1"
      return (response, data)
    }
    let twice = Handler { request, body, next in
      _ = try await next(request, body)
      return try await next(request, body)
    }
    let stream = try await backend(head, twice).stream(for: "notes")
    #expect(stream.response.headerFields[.via] == "1")
    // The first exchange has ended, since nobody can read it.
    try await transport.waitForCancellations()
    #expect(transport.inFlight == 1)
    first.send("1")
    second.send("2")
    second.finish()
    #expect(try await whole(stream.body) == Data("2".utf8))
    transport.answer("/v1/notes", with: .streaming(ScriptedBody()))
    let replaced = Handler { request, body, next in
      var (response, _) = try await next(request, body)
      response.headerFields[.via] = "2"
      return (response, Data("replaced".utf8))
    }
    #expect(try await whole(backend(replaced).stream(for: "notes").body) == Data("replaced".utf8))
    try await transport.waitUntilIdle()
    let own = Handler { _, _, _ in (HTTPResponse(status: .ok), Data("own".utf8)) }
    #expect(try await whole(backend(own).stream(for: "notes").body) == Data("own".utf8))
  }

  @Test func `logging ends at the head`() async throws {
    transport.answer("/v1/notes", with: .streaming(body))
    let entries = Mutex<[LoggingMiddleware.Entry]>([])
    var backend = backend()
    backend.logging = LoggingMiddleware { entry in entries.withLock { $0.append(entry) } }
    let stream = try await backend.stream(for: "notes")
    #expect(entries.withLock { $0.map(\.outcome) } == [.response(status: 200, bytes: 0)])
    withExtendedLifetime(stream) {}
  }

  @Test func `a resource's timeout ends with the head`() async throws {
    let (clock, gate) = (TestClock(), Gate())
    transport.answer("/v1/notes", with: .streaming(body).held(at: gate), .streaming(body))
    var limited: Resource = "notes"
    limited.timeout = .seconds(3)
    let resource = limited
    let task = Task { [backend = backend()] in try await backend.stream(for: resource, clock: clock) }
    try await gate.waitForArrival()
    try await clock.waitForSleepers()
    clock.advance(by: .seconds(3))
    guard case .timedOut(request: "GET api.example.com/v1/notes")? = await error(of: { try await task.value }) else {
      Issue.record("expected a timeout")
      return
    }
    let stream = try await backend().stream(for: resource, clock: clock)
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(3_600))
    body.send("x")
    body.finish()
    #expect(try await whole(stream.body) == Data("x".utf8))
  }

  @Test func `a form is sent, and a 204 has no body`() async throws {
    transport.answer("/v1/notes", with: .response(.noContent))
    let resource = Resource("notes", form: [.field("a", "b")])
    let stream = try await backend().stream(for: resource)
    #expect(stream.response.status == .noContent)
    #expect(try await whole(stream.body).isEmpty)
    let sent = try #require(transport.requests.first)
    #expect(sent.request.headerFields[.contentType]?.hasPrefix("multipart/form-data") == true)
    #expect(sent.body.map { String(decoding: $0, as: UTF8.self) }?.contains("name=\"a\"") == true)
  }

  @Test func `a stream knows the URL that has answered`() async throws {
    try await MockServer.run { request in
      request.target == "/there?page=2" ? .text("x") : .redirect(307, to: "/there?page=2")
    } body: { server in
      let stream = try await Backend(baseURL: server.url).stream(for: "here")
      #expect(stream.url == URL(string: "\(server.url)/there?page=2"))
      #expect(try await whole(stream.body) == Data("x".utf8))
    }
  }

  private func whole(_ body: ResponseBody) async throws -> Data {
    var data = Data()
    for try await piece in body { data.append(contentsOf: piece) }
    return data
  }
}

@Suite struct `A body that cannot be slowed down` {
  @Test func `it gives its bytes up to its limit, and then its error`() async throws {
    let (body, pieces) = UnpacedBody.make(limit: 4)
    try body.add([1, 2, 3])
    try body.add([4])
    #expect(throws: TransportError.tooManyUnread(limit: 4)) { try body.add([5]) }
    body.end(TransportError.tooManyUnread(limit: 4))
    var (received, iterator) = ([UInt8](), pieces.makeAsyncIterator())
    await #expect(throws: TransportError.tooManyUnread(limit: 4)) {
      while let piece = try await iterator.next(isolation: nil) { received += piece }
    }
    #expect(received == [1, 2, 3, 4])
  }

  @Test func `bytes that were read make room`() async throws {
    let (body, pieces) = UnpacedBody.make(limit: 2)
    var iterator = pieces.makeAsyncIterator()
    for byte in UInt8.min...UInt8.max {
      try body.add([byte, byte])
      #expect(try await iterator.next(isolation: nil) == [byte, byte])
    }
  }
}
