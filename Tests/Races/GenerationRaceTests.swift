import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A write, an invalidation, a removal against an answer that is under way: the later begun wins,
/// in memory and on disk.
@Suite("Races of generations", .timeLimit(.minutes(5)))
struct GenerationRaceTests {
  @Test func `a local write survives the fetch that was under way, in memory and on disk`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "slow old answer").json).held(at: gate, ignoresCancellation: true))
    let notes = bench.notes
    let caller = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    try await notes.save(Note(1, "written"), for: "note")
    // A waiter gets the newest value.
    #expect(try await caller.value == "written")
    gate.open()
    try await bench.log.wait(for: .response)
    #expect(notes.cached("note")?.text == "written")
    #expect(try await bench.restarted().notes.fetch("note").text == "written")
  }

  @Test func `a local write survives a fetch whose save was already waiting`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "fetched").json))
    let hold = faulty.hold(.save)
    let notes = bench.notes
    let caller = Task { try await notes.fetch("note").text }
    try await hold.reached()
    let write = Task { try await notes.save(Note(1, "written"), for: "note") }
    #expect(try await caller.value == "written")
    hold.open()
    try await write.value
    #expect(notes.cached("note")?.text == "written")
    #expect(try await bench.restarted().notes.fetch("note").text == "written")
  }

  @Test func `the next success of the network replaces a local write`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "server's").json))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    #expect(bench.notes.states(for: "note").current.origin == .local)
    #expect(try await bench.notes.fetchFromNetwork("note").text == "server's")
    #expect(try await bench.restarted().notes.fetch("note").text == "server's")
  }

  @Test func `an overtaken response is newer than a copy loaded before its request, though the clock was set back`()
    async throws
  {
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "stored").json, fields: [.cacheControl: "max-age=600"]))
    _ = try await bench.notes.fetch("note")
    let restarted = bench.restarted()
    let notes = restarted.notes
    #expect(try await notes.fetch("note", policy: .cacheOnly).text == "stored")
    bench.clock.setWallClock(back: .seconds(3_600))
    await notes.invalidate("note")
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "own").json).held(at: gate, ignoresCancellation: true),
      .json(Note(1, "other").json, fields: [.cacheControl: "no-store"]))
    let caller = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    // The other reactor's response leaves nothing on disk that could decide.
    #expect(try await restarted.layer.reactor(String.self).fetchFromNetwork("note").contains("other"))
    gate.open()
    #expect(try await caller.value == "own")
    #expect(restarted.stillWaiting.isEmpty)
  }

  @Test func `an invalidation makes the request under way begin again, for the same callers`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "before").json).held(at: gate, ignoresCancellation: true),
      .json(Note(1, "after").json))
    let notes = bench.notes
    let caller = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    await notes.invalidate("note")
    #expect(try await caller.value == "after")
    gate.open()
    try await bench.log.wait(for: .response, count: 2)
    #expect(notes.cached("note")?.text == "after")
    #expect(try await bench.restarted().notes.fetch("note").text == "after")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `an invalidation holds in the next process too`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    await bench.notes.invalidate("note")
    #expect(try await bench.restarted().notes.fetch("note").text == "two")
  }

  @Test func `an invalidation that finds nothing in memory holds against a record on disk`() async throws {
    let first = Bench()
    first.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await first.notes.fetch("note")
    let bench = first.restarted()
    await bench.notes.invalidate("note")
    #expect(try await bench.notes.fetch("note").text == "two")
  }

  @Test func `a removal cancels its waiters, waits for the running save, and leaves nothing`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "doomed").json))
    let hold = faulty.hold(.save)
    let notes = bench.notes
    let caller = Task { await error { try await notes.fetch("note") } }
    try await hold.reached()
    let removal = Task { try await notes.remove("note") }
    #expect(await caller.value?.isCancelled == true)
    #expect(faulty.calls(.remove) == 0)
    hold.open()
    try await removal.value
    #expect(notes.cached("note") == nil)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `a fetch that begins while a removal waits reads none of what is being removed`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: faulty)
    bench.transport.answer("/v1/note", with: .json(Note(1, "old").json), .json(Note(1, "new").json))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    let hold = faulty.hold(.remove)
    let removal = Task { try await notes.remove("note") }
    try await hold.reached()
    let caller = Task { try await notes.fetch("note").text }
    try await bench.log.wait(for: .memoryMiss, count: 2)
    hold.open()
    try await removal.value
    #expect(try await caller.value == "new")
    #expect(try await bench.restarted().notes.fetch("note").text == "new")
  }

  @Test func `a request that begins while a removal waits carries no validators of what is being removed`() async throws
  {
    let faulty = FaultyPersistence()
    let bench = Bench(persistence: faulty)
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "old").json, fields: [.eTag: "\"1\""]), .json(Note(1, "new").json))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    let hold = faulty.hold(.remove)
    let removal = Task { try await notes.remove("note") }
    try await hold.reached()
    let caller = Task { try await notes.fetchFromNetwork("note").text }
    try await bench.transport.waitForRequests(count: 2)
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == nil)
    hold.open()
    try await removal.value
    #expect(try await caller.value == "new")
  }

  @Test func `a removal leaves open streams with nothing, idle, and not asking`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .idle }?.value != nil)
    try await bench.notes.remove("note")
    let state = await states.next()
    #expect(state?.value == nil && state?.fetchStatus == .idle && state?.error == nil)
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a slow answer that was begun earlier does not overwrite another reactor's later one`() async throws {
    struct Title: Codable, Sendable { var text: String }
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "early").json).held(at: gate), .json(Note(1, "late").json))
    let notes = bench.notes
    let titles = bench.layer.reactor(Title.self)
    let slow = Task { try await notes.fetchFromNetwork("note").text }
    try await gate.waitForArrival()
    // Begun later, answered earlier; both store the one record of the key.
    #expect(try await titles.fetchFromNetwork("note").text == "late")
    gate.open()
    #expect(try await slow.value == "late")
    #expect(try await bench.restarted().notes.fetch("note").text == "late")
  }

  @Test func `a model that another reactor's newer record has overtaken is read again`() async throws {
    struct Title: Codable, Sendable { var text: String }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.layer.reactor(Title.self).fetchFromNetwork("note")
    #expect(try await bench.notes.fetch("note").text == "two")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `after a caller got a response, no other reactor gives it the older model`() async throws {
    struct Title: Codable, Sendable { var text: String }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    bench.clock.advance(by: .seconds(1))
    let titles = bench.layer.reactor(Title.self)
    // It continues within the call that resumes it, before what comes after that call.
    let caller = Task(executorPreference: InlineExecutor()) {
      _ = try await titles.fetchFromNetwork("note")
      return try await notes.fetch("note").text
    }
    #expect(try await caller.value == "two")
    #expect(bench.transport.requestCount == 2)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a save that its own step's reactor writes again does not wait for itself`() async throws {
    let inner = Bench()
    var flow = inner.layer.flow(Note.self)
    let save = flow.saveToPersistence
    let notes = inner.notes
    flow.saveToPersistence = { snapshot, resource in
      try await save(snapshot, resource)
      await notes.invalidate("other")
    }
    inner.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    #expect(try await Reactor(flow: flow).fetch("note").text == "one")
  }

  @Test func `a removal that waits for the disk is carried out, though the resource is invalidated meanwhile`()
    async throws
  {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    let gate = disk.hold(.save)
    let fetching = Task { await error { try await notes.fetch("note") } }
    try await gate.reached()
    let removal = Task { try await notes.remove("note") }
    try await bench.log.wait(for: .removed)
    let invalidation = Task { await notes.invalidate("note") }
    try await bench.log.wait(for: .invalidated)
    gate.open()
    try await removal.value
    await invalidation.value
    #expect(await fetching.value?.isCancelled == true)
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a local write that waits for the disk is carried out, though the resource is invalidated meanwhile`()
    async throws
  {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    let gate = disk.hold(.save)
    let fetching = Task { try await notes.fetch("note").text }
    try await gate.reached()
    let writing = Task { try await notes.save(Note(1, "mine"), for: "note") }
    try await bench.log.wait(for: .savedLocally)
    let invalidation = Task { await notes.invalidate("note") }
    try await bench.log.wait(for: .invalidated)
    gate.open()
    try await writing.value
    await invalidation.value
    #expect(try await fetching.value == "mine")
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "mine")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an answer that was requested before a change is stale after it, though it is the later on disk`()
    async throws
  {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    let answered = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "before").json).held(at: answered), .json(Note(1, "put").json),
      .json(Note(1, "after").json))
    let notes = bench.notes
    let (listed, saved) = (disk.hold(.entries), disk.hold(.save))
    // The mark of the invalidation.
    disk.fail(.save, with: Record.Failure.truncated)
    let fetching = Task { try await notes.fetch("note").text }
    try await answered.waitForArrival()
    // The server has accepted it, and what is stored for its URL is being looked up.
    let putting = Task { try await notes.send(Resource("note", method: .put)).text }
    try await listed.reached()
    bench.clock.advance(by: .seconds(1))
    answered.open()
    try await saved.reached()
    listed.open()
    try await bench.log.wait(for: .superseded)
    saved.open()
    #expect(try await fetching.value == "after")
    #expect(try await putting.value == "put")
    #expect(bench.transport.requestCount == 3)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `another layer's response that was requested before an invalidation is stale`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    let other = bench.restarted()
    let answered = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "under way").json).held(at: answered),
      .json(Note(1, "after").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(1))
    let fetching = Task { try await other.notes.fetchFromNetwork("note").text }
    try await answered.waitForArrival()
    await bench.notes.invalidate("note")
    bench.clock.advance(by: .seconds(1))
    answered.open()
    #expect(try await fetching.value == "under way")
    #expect(try await bench.notes.fetch("note").text == "after")
    #expect(bench.transport.requestCount == 3)
    try await bench.waitUntilNothingWaits()
    try await other.waitUntilNothingWaits()
  }

  @Test func `a response that another reactor requested after an invalidation is fresh`() async throws {
    struct Title: Codable, Sendable { var text: String }
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let titles = bench.layer.reactor(Title.self)
    _ = try await bench.notes.fetch("note")
    _ = try await titles.fetch("note")
    await bench.notes.invalidate("note")
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.notes.fetch("note").text == "two")
    #expect(try await titles.fetch("note").text == "two")
    #expect(bench.transport.requestCount == 2)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a write that was acknowledged is on disk, though a later one has begun meanwhile and fails`() async throws
  {
    let disk = FaultyPersistence()
    let executor = SteppedExecutor()
    let bench = Bench(persistence: disk) {
      $0.saving = .required
      $0.taskExecutor = executor
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    let (fetched, written) = (disk.hold(.save), disk.hold(.save))
    disk.fail(.save, with: Record.Failure.truncated)
    // Each waits for the disk before the next begins, so their turns come in this order.
    let fetching = Task(executorPreference: executor) { try await notes.fetch("note").text }
    executor.run()
    let first = Task(executorPreference: executor) { try await notes.save(Note(1, "first"), for: "note") }
    executor.run()
    let second = Task(executorPreference: executor) {
      await error { try await notes.save(Note(1, "second"), for: "note") }
    }
    executor.run()
    #expect(disk.calls(.save) == 1)
    fetched.open()
    executor.run()
    #expect(disk.calls(.save) == 2)
    written.open()
    executor.run()
    try await first.value
    #expect(await second.value != nil)
    #expect(try await fetching.value == "first")
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "first")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a flight that is superseded before it has sent its request does not send it`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    // It looks for validators first; a store that does not heed cancellation.
    let looking = disk.hold(.load, endsWhenCancelled: false)
    let fetching = Task { try await notes.fetchFromNetwork("note").text }
    try await looking.reached()
    await notes.invalidate("note")
    looking.open()
    #expect(try await fetching.value == "one")
    #expect(bench.transport.requests.count == 1)
    #expect(bench.log.count(.request) == 1)
    try await bench.waitUntilNothingWaits()
  }
}
