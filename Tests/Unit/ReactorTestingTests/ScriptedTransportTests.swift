import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A scripted transport` {
  let transport = ScriptedTransport()

  private func get(_ path: String, body: Data? = nil) async throws -> (HTTPResponse, Data) {
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: path)
    return try await transport.send(request, body: body) { _ in }
  }

  @Test func `a scripted transport answers in sequence, the last answer for good`() async throws {
    transport.answer("/a", with: .json("1", fields: [.eTag: "\"1\""]), .response(.notModified))
    let (first, body) = try await get("/a")
    #expect(first.status == .ok)
    #expect(first.headerFields[.eTag] == "\"1\"")
    #expect(first.headerFields[.contentType] == "application/json")
    #expect(body == Data("1".utf8))
    for _ in 0..<2 { #expect(try await get("/a").0.status == .notModified) }
  }

  @Test func `a scripted transport prefers the script of the whole path to that without the query`() async throws {
    transport.answer("/a", with: .json("any"))
    transport.answer("/a?page=2", with: .json("two"))
    #expect(try await get("/a?page=1").1 == Data("any".utf8))
    #expect(try await get("/a?page=2").1 == Data("two".utf8))
  }

  @Test(arguments: ["/v1/list", "/v1/list?sort=new"])
  func `links the pages of a list`(path: String) async throws {
    transport.answer(path, withPages: .json("[1]"), .json("[2]", headers: [.eTag: "\"2\""]), .json("[3]"))
    let mark = path.contains("?") ? "&" : "?"
    let name = try #require(HTTPField.Name("Link"))
    let (second, third) = ("\(path)\(mark)page=2", "\(path)\(mark)page=3")
    #expect(try await get(path).0.headerFields[values: name] == ["<\(second)>; rel=\"next\""])
    let (head, body) = try await get(second)
    #expect(head.headerFields[values: name] == ["<\(third)>; rel=\"next\"", "<\(path)>; rel=\"prev\""])
    #expect(head.headerFields[.eTag] == "\"2\"" && body == Data("[2]".utf8))
    #expect(try await get(third).0.headerFields[values: name] == ["<\(second)>; rel=\"prev\""])
    transport.answer("/a", with: .failure(URLError(.timedOut)).link("/b"))
    await #expect(throws: URLError.self) { try await get("/a") }
  }

  @Test func `a scripted transport fails what nothing is scripted for`() async {
    let error = await #expect(throws: ScriptedTransport.Unscripted.self) { try await get("/b") }
    #expect(error?.path == "/b")
    #expect(transport.inFlight == 0)
  }

  @Test func `a scripted transport throws the scripted error`() async {
    transport.answer("/a", with: .failure(URLError(.timedOut)))
    await #expect(throws: URLError(.timedOut)) { try await get("/a") }
  }

  @Test func `a scripted transport records requests and bodies in order`() async throws {
    let transport = ScriptedTransport { request, body in .response(body: body ?? Data("\(request.path ?? "")".utf8)) }
    for body in [nil, Data("x".utf8)] {
      let request = HTTPRequest(method: .post, scheme: "https", authority: "api.test", path: "/echo?n=1")
      let (_, answer) = try await transport.send(request, body: body) { _ in }
      #expect(answer == body ?? Data("/echo?n=1".utf8))
    }
    #expect(transport.requests.map(\.path) == ["/echo?n=1", "/echo?n=1"])
    #expect(transport.requests.map(\.body) == [nil, Data("x".utf8)])
    #expect(transport.requests.map(\.request.method) == [.post, .post])
  }

  @Test func `a scripted transport holds at a gate and counts who is in flight`() async throws {
    let gate = Gate()
    transport.answer("/a", with: Answer.json("1").held(at: gate))
    let tasks = [Task { try await get("/a") }, Task { try await get("/a") }]
    try await transport.waitForRequests(count: 2)
    #expect(transport.inFlight == 2)
    gate.open()
    for task in tasks { #expect(try await task.value.1 == Data("1".utf8)) }
    _ = try await get("/a")
    #expect(transport.inFlight == 0)
    #expect(transport.maximumInFlight == 2)
    #expect(transport.cancellationCount == 0)
  }

  @Test func `a scripted transport ends a held request at once when it is cancelled, and counts it`() async throws {
    let gate = Gate()
    transport.answer("/a", with: Answer.json("1").held(at: gate))
    let task = Task { try await get("/a") }
    try await gate.waitForArrival()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await transport.waitForCancellations()
    #expect(transport.cancellationCount == 1)
    #expect(transport.inFlight == 0)
  }

  @Test func `a scripted transport answers a cancelled request late where it ignores cancellation`() async throws {
    let gate = Gate()
    transport.answer("/a", with: Answer.json("late").held(at: gate, ignoresCancellation: true))
    let task = Task { try await get("/a") }
    try await gate.waitForArrival()
    task.cancel()
    try await transport.waitForCancellations()
    #expect(transport.inFlight == 1)
    gate.open()
    #expect(try await task.value.1 == Data("late".utf8))
  }

  @Test func `delays the body on a clock, after the head's progress`() async throws {
    let clock = TestClock()
    let seen = Mutex<[TransferProgress]>([])
    transport.answer("/a", with: Answer.json("abc").bodyDelayed(by: .seconds(2), on: clock))
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/a")
    let task = Task { [transport] in
      try await transport.send(request, body: nil) { progress in seen.withLock { $0.append(progress) } }
    }
    try await clock.waitForSleepers()
    #expect(seen.withLock { $0.last } == TransferProgress(received: 0, expected: 3))
    clock.advance(by: .seconds(2))
    #expect(try await task.value.1 == Data("abc".utf8))
    #expect(seen.withLock { $0.last } == TransferProgress(received: 3, expected: 3))
    try clock.checkNobodySleeps()
  }

  @Test func `delays the whole answer on a clock, after its gate`() async throws {
    let (clock, gate) = (TestClock(), Gate())
    transport.answer("/a", with: Answer.json("abc").held(at: gate).delayed(by: .seconds(2), on: clock))
    let task = Task { try await get("/a") }
    try await gate.waitForArrival()
    #expect(clock.sleeperCount == 0)
    gate.open()
    try await clock.waitForSleepers()
    #expect(transport.inFlight == 1)
    clock.advance(by: .seconds(2))
    #expect(try await task.value.1 == Data("abc".utf8))
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [true, false])
  func `a delay ends when it is cancelled, with an answer where that is ignored`(isIgnored: Bool) async throws {
    let clock = TestClock()
    let answer = Answer.json("abc").held(at: Gate(isOpen: true), ignoresCancellation: isIgnored)
    transport.answer("/a", with: answer.delayed(by: .seconds(2), on: clock))
    let task = Task { try await get("/a") }
    try await clock.waitForSleepers()
    task.cancel()
    let result = await task.result
    #expect((try? result.get().1) == (isIgnored ? Data("abc".utf8) : nil))
    #expect(transport.cancellationCount == 1)
    try clock.checkNobodySleeps()
  }

  @Test(arguments: [(2, 2), (0, 0), (3, 3), (9, 3), (-1, 0)])
  func `a body cut short makes progress up to there, and is an error`(bytes: Int, received: Int64) async throws {
    let seen = Mutex<[TransferProgress]>([])
    transport.answer("/a", with: Answer.json("abc").cutShort(after: bytes))
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/a")
    await #expect(throws: TransportError.connectionFailed("the scripted body was cut after \(received) of 3 bytes")) {
      try await transport.send(request, body: nil) { progress in seen.withLock { $0.append(progress) } }
    }
    #expect(seen.withLock { $0.last } == TransferProgress(received: received, expected: 3))
    #expect(transport.inFlight == 0)
  }

  private typealias Answer = ScriptedTransport.Answer
}

@Suite(.timeLimit(.minutes(5))) struct `A scripted body` {
  private let body = ScriptedBody()

  @Test func `a scripted body is returned as a whole where it is not streamed`() async throws {
    let (transport, gate) = (ScriptedTransport(), Gate())
    transport.answer("/a", with: .streaming(body, headers: [.eTag: "\"1\""]).held(at: gate))
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/a")
    let task = Task { try await transport.send(request, body: nil) { _ in } }
    try await gate.waitForArrival()
    gate.open()
    for piece in ["a", "", "b"] { body.send(piece) }
    body.finish()
    body.send("c")
    body.cutShort()
    let (response, data) = try await task.value
    #expect(response.headerFields[.eTag] == "\"1\"" && data == Data("ab".utf8))
    let lost = ScriptedBody()
    lost.cutShort()
    transport.answer("/a", with: .streaming(lost))
    await #expect(throws: TransportError.self) { try await transport.send(request, body: nil) { _ in } }
    #expect(transport.inFlight == 0)
  }

  @Test func `other answers are streamed as one piece, or cut`() async throws {
    let transport = ScriptedTransport()
    transport.answer("/a", with: .json("[1]"), .json("[1]").cutShort(after: 2), .failure(URLError(.timedOut)))
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/a")
    var pieces: [ArraySlice<UInt8>] = []
    for try await piece in try await transport.stream(request, body: nil).1 { pieces.append(piece) }
    #expect(pieces == [ArraySlice("[1]".utf8)])
    await #expect(throws: TransportError.self) {
      for try await piece in try await transport.stream(request, body: nil).1 { pieces.append(piece) }
    }
    #expect(pieces.last == ArraySlice("[1".utf8))
    await #expect(throws: URLError(.timedOut)) { _ = try await transport.stream(request, body: nil) }
    try await transport.waitUntilIdle()
    #expect(transport.cancellationCount == 0)
  }

  @Test func `a mock server sends a scripted body to each client from the start`() async throws {
    let body = body
    try await MockServer.run { _ in
      .streaming(body)
    } body: { server in
      let request = HTTPRequest(method: .get, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/")
      body.send("ab")
      var texts: [String] = []
      for index in 0..<2 {
        if index == 1 { body.finish() }
        var text = ""
        for try await piece in try await URLSessionTransport().stream(request, body: nil).1 {
          text += String(decoding: piece, as: UTF8.self)
          if index == 0 { break }
        }
        texts.append(text)
      }
      #expect(texts == ["ab", "ab"])
    }
  }
}
