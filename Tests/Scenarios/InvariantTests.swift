import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The axioms of the flow, by their number in the design. Each test fails when its axiom is broken.
@Suite("Invariants of the flow", .timeLimit(.minutes(5)))
struct InvariantTests {
  @Test func `1 fetch asks memory, then persistence, and the network only when they have nothing usable`() async throws
  {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "from the network").json))
    #expect(try await bench.notes.fetch("note").text == "from the network")
    #expect(try await bench.notes.fetch("note").text == "from the network")
    #expect(bench.transport.requestCount == 1)
    #expect(
      bench.log.names.filter { $0 != .parsed && $0 != .response } == [
        .memoryMiss, .persistenceMiss, .request, .saved, .memoryHit,
      ])

    let next = bench.restarted()
    #expect(try await next.notes.fetch("note").text == "from the network")
    #expect(next.log.names.first == .memoryMiss)
    #expect(next.log.kinds.count { if case .persistenceHit(isFresh: true) = $0 { true } else { false } } == 1)
    #expect(bench.transport.requestCount == 1)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `1 what is stale is requested again`() async throws {
    let bench = Bench { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "old").json), .json(Note(1, "new").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(60))
    #expect(try await bench.notes.fetch("note").text == "new")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `2 fetchFromNetwork asks the network first and saves what it brings`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetchFromNetwork("note")
    #expect(try await bench.notes.fetchFromNetwork("note").text == "two")
    #expect(bench.transport.requestCount == 2)
    #expect(bench.log.count(.persistenceHit) + bench.log.count(.persistenceMiss) == 0)
    #expect(try await bench.restarted().notes.fetch("note").text == "two")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `2 fetchFromNetwork reads the stored record for its validators only`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "kept").json, fields: [.eTag: "\"a\""]), .response(.notModified))
    _ = try await bench.notes.fetchFromNetwork("note")
    let next = bench.restarted()
    #expect(try await next.notes.fetchFromNetwork("note").text == "kept")
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(next.log.count(.notModified) == 1)
  }

  @Test(arguments: [Duration.zero, .seconds(60)])
  func `3 a thousand concurrent fetches of one key make one request, and each ends`(freshFor: Duration) async throws {
    let bench = Bench { $0.freshFor = freshFor }
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<1_000 { group.addTask { try await notes.fetch("note").text } }
      try await bench.log.wait(for: .joined, count: 999)
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts == Array(repeating: "one", count: 1_000))
    #expect(bench.transport.requestCount == 1)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `3 each of many callers gets the error of the one request`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .response(.internalServerError).held(at: gate))
    let notes = bench.notes
    let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<50 { group.addTask { await error { try await notes.fetch("note") }?.status } }
      try await bench.log.wait(for: .joined, count: 49)
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == Array(repeating: 500, count: 50))
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `3 a method that changes something is never coalesced, stored or served, and invalidates`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "read").json))
    _ = try await bench.notes.fetch("note")
    bench.transport.answer("/v1/note", with: .json(Note(1, "written").json))
    let post = Resource("note", method: .post, body: Data("{}".utf8))
    #expect(try await bench.notes.send(post).text == "written")
    #expect(try await bench.notes.send(post).text == "written")
    #expect(bench.transport.requestCount == 3)
    #expect(bench.notes.cached(post) == nil)
    // The GET's copy is stale now, in memory and on disk.
    bench.transport.answer("/v1/note", with: .json(Note(1, "read again").json))
    #expect(try await bench.restarted().notes.fetch("note").text == "read again")
    #expect(try await bench.notes.fetch("note").text == "read again")
  }

  @Test func `3 a request that the server refused invalidates nothing`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "read").json), .response(.badRequest))
    _ = try await bench.notes.fetch("note")
    let refused = await error { try await bench.notes.send(Resource("note", method: .delete)) }
    #expect(refused?.status == 400)
    #expect(try await bench.notes.fetch("note").text == "read")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `3 a search by POST that is marked read-only is coalesced, stored and served`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/search", with: .json(Note(1, "found").json))
    var search = Resource("search", method: .post, body: Data("swift".utf8))
    search.isReadOnly = true
    _ = try await bench.notes.fetch(search)
    #expect(try await bench.notes.fetch(search).text == "found")
    #expect(try await bench.restarted().notes.fetch(search).text == "found")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `4 no published value is a mixture of two responses`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    let pairs = bench.layer.reactor([Note].self)
    let served = Tick()
    let transport = ScriptedTransport { _, _ in
      let n = served.next()
      return .json("[\(Note(n, "v\(n)").json),\(Note(n, "v\(n)").json)]")
    }
    let layer = ModelLayer(
      baseURL: Bench.url, transport: transport, persistence: MemoryPersistence(), reachability: .always)
    let reactor = layer.reactor([Note].self)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<50 {
            let value = try await reactor.fetchFromNetwork("pair")
            #expect(value.count == 2 && value[0] == value[1] && value[0].text == "v\(value[0].id)")
          }
        }
      }
      try await group.waitForAll()
    }
    _ = pairs
  }

  @Test func `5 what fails while loading is a miss with its cause, and the network is asked`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "rescued").json))
    faulty.fail(.load, with: Broken())
    #expect(try await bench.notes.fetch("note").text == "rescued")
    #expect(bench.log.kinds.count { if case .loadFailed(.persistence(is Broken)) = $0 { true } else { false } } == 1)
  }

  @Test func `5 a model that has changed shape is parsed again, or fetched`() async throws {
    struct Titled: Codable, Sendable, Equatable { var title: String }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "old shape").json), .json(#"{"title":"new shape"}"#))
    _ = try await bench.notes.fetch("note")
    let titled = bench.layer.reactor(Titled.self)
    #expect(try await titled.fetch("note") == Titled(title: "new shape"))
    #expect(bench.log.kinds.count { if case .loadFailed(.parser) = $0 { true } else { false } } == 1)
  }

  @Test func `6 what fails while saving is an event`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "unsaved").json))
    faulty.fail(.save, with: Broken())
    #expect(try await bench.notes.fetch("note").text == "unsaved")
    #expect(bench.log.kinds.count { if case .saveFailed(.persistence(is Broken)) = $0 { true } else { false } } == 1)
    #expect(bench.log.count(.saved) == 0)
  }

  @Test func `6 what fails while saving fails the fetch where the configuration says so, and counts as unsaved`()
    async throws
  {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty) { $0.saving = .required }
    bench.transport.answer("/v1/note", with: .json(Note(1, "unsaved").json))
    faulty.fail(.save, with: Broken())
    let failure = await error { try await bench.notes.fetch("note") }
    guard case .persistence(let cause)? = failure else { return #expect(Bool(false), "\(String(describing: failure))") }
    #expect(cause is Broken)
    #expect(bench.notes.cached("note") == nil)
    #expect(bench.log.count(.saved) == 0)
  }

  @Test func `7 what was acknowledged is there, whole, for the next process`() async throws {
    try await withTemporaryDirectory { directory in
      let bench = Bench(persistence: FilePersistence(directory: directory))
      bench.transport.answer("/v1/note", with: .json(Note(1, "durable").json))
      _ = try await bench.notes.fetch("note")
      let next = Bench(persistence: FilePersistence(directory: directory), clock: bench.clock)
      #expect(try await next.notes.fetch("note", policy: .cacheOnly).text == "durable")
    }
  }

  @Test func `8 freshness counts from the fetch, in memory and from disk alike`() async throws {
    let bench = Bench { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(59))
    // Loaded from disk into the memory of a new process: its age continues, it does not begin
    // again.
    let next = bench.restarted { $0.freshFor = .seconds(60) }
    #expect(try await next.notes.fetch("note").text == "one")
    bench.clock.advance(by: .seconds(1))
    #expect(try await next.notes.fetch("note").text == "two")
  }

  @Test func `8 a lifetime of zero is always stale`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    #expect(try await bench.notes.fetch("note").text == "two")
  }

  @Test func `8 a clock that is set back makes a copy stale, and never prolongs it`() async throws {
    let bench = Bench { $0.freshFor = .seconds(60) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.setWallClock(back: .seconds(3_600))
    #expect(try await bench.notes.fetch("note").text == "two")
  }

  @Test func `9 what one scope stored is never served to another`() async throws {
    let bench = Bench(scope: "alice")
    bench.transport.answer("/v1/note", with: .json(Note(1, "alice's").json))
    _ = try await bench.notes.fetch("note")
    let bob = Bench(persistence: bench.persistence, clock: bench.clock, scope: "bob")
    #expect(await error { try await bob.notes.fetch("note", policy: .cacheOnly) }?.isNotCached == true)
    try await bob.layer.removeAll()
    let alice = Bench(persistence: bench.persistence, clock: bench.clock, scope: "alice")
    #expect(try await alice.notes.fetch("note", policy: .cacheOnly).text == "alice's")
  }

  @Test func `9 removing a scope fences what is still in flight, in memory and on disk`() async throws {
    let bench = Bench(scope: "alice")
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "too late").json).held(at: gate, ignoresCancellation: true))
    let notes = bench.notes
    let caller = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    try await bench.layer.removeAll()
    #expect(await caller.value?.isCancelled == true)
    gate.open()
    try await bench.log.wait(for: .response)
    #expect(bench.notes.cached("note") == nil)
    #expect(await error { try await bench.notes.fetch("note", policy: .cacheOnly) }?.isNotCached == true)
  }

  @Test func `10 a failed refresh keeps the last good value, and the stream continues`() async throws {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "good").json), .response(.forbidden), .json(Note(1, "better").json))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let loaded = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    #expect(loaded?.value?.text == "good")
    await bench.notes.invalidate("note")
    let failed = await states.first { $0.error != nil && $0.fetchStatus == .idle }
    #expect(failed?.value?.text == "good")
    #expect(failed?.error?.status == 403)
    await bench.notes.invalidate("note")
    let recovered = await states.first { $0.error == nil && $0.fetchStatus == .idle }
    #expect(recovered?.value?.text == "better")
  }

  @Test func `11 no secret is in a record, a key, an event or the text of an error`() async throws {
    let persistence = MemoryPersistence()
    let bench = Bench(persistence: persistence)
    let secret = "s3cr3t"
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "x").json, fields: [.setCookie: "session=\(secret)", .eTag: "\"1\""]),
      .response(.forbidden, fields: [.setCookie: "session=\(secret)"]))
    let resource = Resource(
      "note", query: ["api_key": secret],
      headers: [.authorization: "Bearer \(secret)", .cookie: "session=\(secret)"])
    _ = try await bench.notes.fetch(resource)
    let failure = await error { try await bench.notes.fetchFromNetwork(resource) }
    var dumped = ""
    dump(failure, to: &dumped)
    dump(bench.log.events, to: &dumped)
    dump(resource, to: &dumped)
    for entry in try await persistence.entries(in: nil, url: nil) {
      dump(try await persistence.load(entry.key), to: &dumped)
      dumped += entry.key.identity
    }
    #expect(failure?.status == 403)
    #expect(dumped.contains("hmac-"))
    #expect(!dumped.contains(secret))
  }
}
