import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Custom flows: closures, wrapped steps, a typed store.
@Suite("Custom flows", .timeLimit(.minutes(5)))
struct FlowTests {
  @Test func `a closure is a whole flow: memory and flights come with it`() async throws {
    let tick = Tick()
    let gate = Gate()
    let reactor = Reactor(
      flow: ReactorFlow { (resource: Resource) in
        try await gate.wait()
        return "\(resource.path) \(tick.next())"
      })
    let log = EventRecorder(reactor, except: [.ownSteps])
    async let first = reactor.fetch("a")
    async let second = reactor.fetch("a")
    try await log.wait(for: .joined)
    gate.open()
    #expect(try await first == "a 1")
    #expect(try await second == "a 1")
    #expect(try await reactor.fetch("a") == "a 1")
    #expect(try await reactor.fetchFromNetwork("a") == "a 2")
    #expect(try await reactor.fetch("b") == "b 3")
    #expect(reactor.cached("a") == "a 2")
  }

  @Test func `resources that differ in path, query or body are different things to a flow of closures`() async throws {
    let tick = Tick()
    let reactor = Reactor(flow: ReactorFlow { (_: Resource) in tick.next() })
    let resources: [Resource] = [
      "a", "b", Resource("a", query: ["q": "1"]), Resource("a", query: ["q": "2"]), "https://any.example/a",
    ]
    for (index, resource) in resources.enumerated() { #expect(try await reactor.fetch(resource) == index + 1) }
    for (index, resource) in resources.enumerated() { #expect(try await reactor.fetch(resource) == index + 1) }
  }

  @Test func `why loading failed can be logged by wrapping the step`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    faulty.fail(.load, with: Broken())
    let seen = Mutex<[String]>([])
    var flow = bench.layer.flow(Note.self)
    let load = flow.loadFromPersistence
    flow.loadFromPersistence = { resource in
      do { return try await load(resource) } catch {
        seen.withLock { $0.append("\(error)") }
        throw error
      }
    }
    #expect(try await Reactor(flow: flow).fetch("note").text == "one")
    #expect(seen.withLock(\.self) == ["Broken()"])
  }

  @Test func `a network step says unchanged by returning the stale copy with a new time`() async throws {
    let clock = TestClock()
    var configuration = ReactorConfiguration()
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    configuration.freshFor = .seconds(60)
    let asked = Tick()
    let reactor = Reactor(
      flow: ReactorFlow<String>(
        configuration: configuration,
        network: { _, context in
          _ = asked.next()
          guard var stale = context.stale else { return Snapshot(model: "made", fetchedAt: clock.date) }
          stale.fetchedAt = clock.date
          return stale
        }, loadFromPersistence: { _ in nil }, saveToPersistence: { _, _ in }))
    #expect(try await reactor.fetch("a") == "made")
    clock.advance(by: .seconds(61))
    #expect(try await reactor.fetch("a") == "made")
    clock.advance(by: .seconds(59))
    #expect(try await reactor.fetch("a") == "made")
    #expect(asked.next() == 3)
  }

  @Test func `a step over a typed store says unchanged with a new time`() async throws {
    let clock = TestClock()
    let calls = Tick()
    var configuration = ReactorConfiguration()
    configuration.now = clock.wallClock
    configuration.clock = clock
    configuration.keepUnusedFor = .never
    var flow = ReactorFlow<Note>.persisted(in: MemoryPersistence(), configuration: configuration) { _ in Note(1, "one")
    }
    flow.network = { _, context in
      _ = calls.next()
      var snapshot = context.stale ?? Snapshot(model: Note(1, "one"), fetchedAt: clock.date)
      snapshot.fetchedAt = clock.date
      return snapshot
    }
    _ = try await Reactor(flow: flow).fetch("note")
    clock.advance(by: .seconds(400))
    let next = Reactor(flow: flow)
    _ = try await next.fetch("note")
    #expect(next.states(for: "note").current.isStale == false)
    _ = try await next.fetch("note")
    #expect(calls.next() == 3)
  }

  @Test func `a step may throw anything, and it becomes ours`() async throws {
    func failure(_ thrown: any Error) async -> ReactorError? {
      await error { try await Reactor(flow: ReactorFlow { (_: Resource) -> Int in throw thrown }).fetch("a") }
    }
    #expect(await failure(CancellationError())?.isCancelled == true)
    #expect(await failure(ReactorError.noConnectivity)?.isNoConnectivity == true)
    guard case .network(let cause)? = await failure(Broken()) else { return #expect(Bool(false)) }
    #expect(cause is Broken)
  }

  @Test func `a reactor whose step changes the model does not change another's`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let plain = bench.layer.flow(Note.self)
    var shouting = plain
    let load = shouting.loadFromPersistence
    shouting.loadFromPersistence = { resource in
      var snapshot = try await load(resource)
      snapshot?.model.text += "!"
      return snapshot
    }
    _ = try await bench.notes.fetch("note")
    let quiet = Reactor(flow: plain)
    let loud = Reactor(flow: shouting)
    #expect(try await loud.fetch("note").text == "one!")
    #expect(try await quiet.fetch("note").text == "one")
  }

  @Test func `a typed store lies under one's own network step`() async throws {
    let persistence = MemoryPersistence()
    let tick = Tick()
    func flow() -> ReactorFlow<Note> {
      .persisted(in: persistence) { resource in Note(tick.next(), resource.path) }
    }
    let first = Reactor(flow: flow())
    #expect(try await first.fetch("a") == Note(1, "a"))
    let next = Reactor(flow: flow())
    #expect(try await next.fetch("a") == Note(1, "a"))
    await next.invalidate("a")
    #expect(try await Reactor(flow: flow()).fetch("a") == Note(2, "a"))
    try await next.remove("a")
    #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `after a restart, a typed store distinguishes a fetched value from a local one`() async throws {
    let persistence = MemoryPersistence()
    func reactor() -> Reactor<Note> { Reactor(flow: .persisted(in: persistence) { Note(1, $0.path) }) }
    func origin(_ resource: Resource) async -> Origin? {
      var states = reactor().states(for: resource, policy: .cacheOnly).makeAsyncIterator()
      return await states.first { $0.value != nil }?.origin
    }
    let first = reactor()
    _ = try await first.fetch("a")
    try await first.save(Note(2, "mine"), for: "b")
    #expect(await origin("a") == .persistence)
    #expect(await origin("b") == .local)
    try await first.save(Note(3, "mine"), for: "a")
    #expect(await origin("a") == .local)
    #expect(try await first.fetchFromNetwork("b").text == "b")
    #expect(await origin("b") == .persistence)
  }

  @Test func `invalidation holds for a flow whose persistence knows nothing of it`() async throws {
    let tick = Tick()
    let clock = TestClock()
    var configuration = ReactorConfiguration()
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    let stored = Mutex<Snapshot<Int>?>(nil)
    let reactor = Reactor(
      flow: ReactorFlow<Int>(
        configuration: configuration,
        network: { _, _ in Snapshot(model: tick.next(), fetchedAt: clock.date) },
        loadFromPersistence: { _ in stored.withLock(\.self) },
        saveToPersistence: { snapshot, _ in stored.withLock { $0 = snapshot } }))
    #expect(try await reactor.fetch("a") == 1)
    clock.advance(by: .seconds(1))
    await reactor.invalidate("a")
    #expect(try await reactor.fetch("a") == 2)
  }

  @Test func `a Mappable that gives null is kept in memory only, and an event says so`() async throws {
    struct Session: Mappable, Equatable {
      static func mapToModel(_ json: JSONValue) throws -> Session { Session() }
      func mapToJSON() -> JSONValue { .null }
    }
    let bench = Bench()
    let sessions = bench.layer.reactor(Session.self)
    try await sessions.save(Session(), for: "session")
    #expect(sessions.cached("session") == Session())
    #expect(bench.log.count(.notEncoded) == 1)
    #expect(bench.log.count(.savedLocally) == 1 && bench.log.count(.saved) == 0)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `a local value is read back by its own type, and is a miss for another`() async throws {
    struct Title: Codable, Sendable, Equatable { var text: String }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "server's").json))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    let next = bench.restarted()
    #expect(try await next.notes.fetch("note", policy: .cacheOnly).text == "mine")
    #expect(next.notes.states(for: "note").current.origin == .local)
    #expect(
      await error { try await next.layer.reactor(Title.self).fetch("note", policy: .cacheOnly) }?.isNotCached == true)
    #expect(try await next.layer.reactor(Title.self).fetch("note") == Title(text: "server's"))
  }

  @Test func `a middleware sees each exchange, and may answer by itself`() async throws {
    struct Stamp: TransportMiddleware {
      func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
        var request = request
        request.headerFields[.userAgent] = "news/1"
        return try await next(request, body)
      }
    }
    let transport = ScriptedTransport { request, _ in .json(Note(1, request.headerFields[.userAgent] ?? "").json) }
    let backend = Backend(
      baseURL: Bench.url, transport: transport, middlewares: [Stamp()], reachability: .always)
    let notes = Reactor(flow: ReactorFlow<Note>(backend: backend))
    #expect(try await notes.fetch("note").text == "news/1")
  }
}
