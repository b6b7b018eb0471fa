import Foundation
import ReactorCore
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

@testable import ServerSentEvents

@Suite("An event source over HTTP") struct EventSourceTests {
  private let clock = TestClock()

  private func backend(_ server: EventServer, reachability: any Reachability = .always) -> Backend {
    Backend(baseURL: server.url, transport: URLSessionTransport(timeout: .seconds(20)), reachability: reachability)
  }

  private func source(_ server: EventServer, lastEventID: String = "") -> EventSource {
    var retry = RetryPolicy.reconnecting
    retry.seed = 7
    return EventSource(
      backend(server), "events", lastEventID: lastEventID, retry: retry, clock: clock, now: clock.wallClock)
  }

  /// The points of the waits that the seed of ``source(_:lastEventID:)`` determines.
  private var draws: [Double] {
    var generator = SplitMix64(seed: 7)
    return (0..<8).map { _ in .random(in: 0...1, using: &generator) }
  }

  /// The wait of that ceiling in seconds, at a point of it.
  private func wait(_ ceiling: Double, at draw: Double) -> Duration {
    RetryPolicy(firstDelay: .seconds(ceiling)).delay(after: 1, random: draw)
  }

  /// Waits until the source sleeps for `delay`, and wakes it.
  private func wake(after delay: Duration) async throws {
    try await clock.waitForSleeper(for: delay)
    clock.advance(by: delay)
  }

  @Test(.timeLimit(.minutes(1))) func `yields each event as it arrives, before the response ends`() async throws {
    let server = try EventServer(.events(":\n\n", "data: a\n\n", "event: x\ndata: b", "\n\n", end: .held))
    defer { server.stop() }
    var iterator = source(server).makeAsyncIterator()
    #expect(try await iterator.next() == ServerSentEvent(data: "a"))
    #expect(try await iterator.next() == ServerSentEvent(type: "x", data: "b"))
    let request = try #require(server.requests.first)
    #expect(request["Accept"] == "text/event-stream")
    #expect(request["Cache-Control"] == "no-cache")
    #expect(request["Last-Event-ID"] == nil)
  }

  @Test(.timeLimit(.minutes(1))) func `continues behind the last event, and keeps its id`() async throws {
    let server = try EventServer(
      .events("retry: 3000\nid: 7\ndata: a\n\n"), .events("data: b\n\n", "id: 8\n\n", end: .cut),
      .events("id: ä\n\n", "data: c\n\n"), .events("id\ndata: d\n\n"), .events("data: e\n\n", end: .held))
    defer { server.stop() }
    let (source, draws, clock) = (source(server), draws, clock)
    let events = Task {
      var events: [ServerSentEvent] = []
      for try await event in source {
        events.append(event)
        if events.count == 5 { break }
      }
      return events
    }
    for draw in draws.prefix(4) { try await wake(after: wait(3, at: draw)) }
    #expect(
      try await events.value == [
        ServerSentEvent(data: "a", id: "7", retry: .seconds(3)), ServerSentEvent(data: "b", id: "7"),
        ServerSentEvent(data: "c", id: "ä"), ServerSentEvent(data: "d"), ServerSentEvent(data: "e"),
      ])
    #expect(server.positions == [nil, "7", "8", "ä", nil])
    #expect(clock.sleeperCount == 0)
  }

  @Test(.timeLimit(.minutes(1))) func `begins at a saved position, unless it cannot be sent`() async throws {
    let server = try EventServer(.events("data: a\n\n"))
    defer { server.stop() }
    for id in ["41", "a\nb", "a\0"] {
      var iterator = source(server, lastEventID: id).makeAsyncIterator()
      #expect(try await iterator.next()?.data == "a")
    }
    #expect(server.positions == ["41", nil, nil])
  }

  @Test(.timeLimit(.minutes(1))) func `asks again after a refusal that may pass, and ends with 204`() async throws {
    let server = try EventServer(
      .status(503, [("Retry-After", "30")], body: "busy"), .status(429), .events("id: 1\ndata: a\n\n"), .status(204))
    defer { server.stop() }
    let (source, draws) = (source(server), draws)
    let events = Task { try await source.reduce(into: []) { $0.append($1) } }
    try await wake(after: .seconds(30))
    try await wake(after: wait(4, at: draws[1]))
    try await wake(after: wait(2, at: draws[2]))
    #expect(try await events.value == [ServerSentEvent(data: "a", id: "1")])
    #expect(server.positions == [nil, nil, nil, "1"])
  }

  @Test(.timeLimit(.minutes(1)), arguments: ["text/event-streams", "text/html; charset=utf-8", "", "text/plain"])
  func `refuses another type than event streams`(type: String) async throws {
    let server = try EventServer(EventServer.Answer(type: type, pieces: ["data: a\n\n"], end: .held))
    defer { server.stop() }
    var iterator = source(server).makeAsyncIterator()
    let error = await #expect(throws: EventSourceError.self) { try await iterator.next() }
    guard case .notAnEventStream(contentType: type)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try await iterator.next() == nil)
    // The exchange ends, although the server does not end it.
    try await server.left.wait()
  }

  @Test(
    .timeLimit(.minutes(1)),
    arguments: [
      "text/event-stream;charset=latin1", "text/event-stream;", "Text/Event-Stream ; charset=utf-8",
      "text/event-stream",
    ])
  func `reads an event stream as UTF-8, whatever its parameters are`(type: String) async throws {
    let server = try EventServer(EventServer.Answer(type: type, pieces: ["data: ok…\n\n"], end: .held))
    defer { server.stop() }
    var iterator = source(server).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "ok…")
  }

  @Test(.timeLimit(.minutes(1))) func `ends with the server's refusal, and its words`() async throws {
    let server = try EventServer(.status(403, body: "not yours"))
    defer { server.stop() }
    var iterator = source(server).makeAsyncIterator()
    let error = await #expect(throws: EventSourceError.self) { try await iterator.next() }
    guard case .request(.server(let response, let body))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(response.status.code == 403)
    #expect(body == Data("not yours".utf8))
    #expect(try await iterator.next() == nil)
    #expect(server.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `asks with a new credential after a 401, and ends with the second`() async throws
  {
    let server = try EventServer(
      .status(401), .events("data: a\n\n"), .status(401), .status(401), .events("data: never\n\n"))
    defer { server.stop() }
    var backend = backend(server)
    backend.authentication = AuthenticationMiddleware(
      TokenAuthenticator(), credential: "1", origins: [server.url])
    var retry = RetryPolicy.reconnecting
    retry.firstDelay = .zero
    var iterator = EventSource(backend, "events", retry: retry).makeAsyncIterator()
    #expect(try await iterator.next()?.data == "a")
    let error = await #expect(throws: EventSourceError.self) { try await iterator.next() }
    guard case .request(let cause)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(cause.status == 401 || { if case .authentication = cause { true } else { false } }(), "\(cause)")
    #expect(server.requests.count == 4)
  }

  @Test(.timeLimit(.minutes(1))) func `ends without an error when its task is cancelled, in each state`() async throws {
    let (held, refusing) = (try EventServer(.events("data: a\n\n", end: .held)), try EventServer(.status(503)))
    defer {
      held.stop()
      refusing.stop()
    }
    // While it reads.
    let (source, gate) = (source(held), Gate())
    let reading = Task {
      for try await _ in source { gate.open() }
      return Task.isCancelled
    }
    try await gate.wait()
    reading.cancel()
    #expect(try await reading.value)
    try await held.left.wait()
    // While it waits.
    let waiting = Task { [source = self.source(refusing)] in
      for try await _ in source {}
      return Task.isCancelled
    }
    try await clock.waitForSleeper(for: wait(2, at: draws[0]))
    waiting.cancel()
    #expect(try await waiting.value)
    #expect(refusing.requests.count == 1)
  }

  @Test(.timeLimit(.minutes(1))) func `closes its connection when its reader is released`() async throws {
    let server = try EventServer(.events("data: a\n\n", end: .held))
    defer { server.stop() }
    for try await event in source(server) {
      #expect(event.data == "a")
      break
    }
    try await server.left.wait()
  }

  @Test(.timeLimit(.minutes(1))) func `waits for connectivity, and not for the rest of its wait`() async throws {
    let reachability = ReturningReachability()
    // No loopback host, which needs no connectivity.
    let backend = Backend(
      baseURL: try #require(URL(string: "https://api.example.com")), transport: URLSessionTransport(),
      reachability: reachability)
    let source = EventSource(backend, "events", clock: clock)
    let pause = Task { try await source.pause(for: .seconds(60)) }
    try await reachability.isAwaited.wait()
    reachability.finish()
    try await pause.value
    #expect(clock.sleeperCount == 0)
  }
}

/// A reachability without connectivity, until a test that has seen a listener ends that.
private final class ReturningReachability: Reachability {
  let isAwaited = Gate()
  private let continuation = Shared(AsyncStream<Bool>.Continuation?.none)

  var isReachable: Bool { false }
  var changes: AsyncStream<Bool> {
    AsyncStream { continuation in
      continuation.yield(false)
      self.continuation.change { $0 = continuation }
      isAwaited.open()
    }
  }

  func finish() { continuation.value?.yield(true) }
}
