import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("Many resources at once", .timeLimit(.minutes(5)))
struct ManyResourcesTests {
  private func resources(_ count: Int) -> [Resource] { (1...count).map { "notes/\($0)" } }

  @Test func `come in their order, each with its own failure`() async throws {
    let bench = Bench()
    for id in 1...3 { bench.transport.answer("/v1/notes/\(id)", with: .json(Note(id, "\(id)").json)) }
    bench.transport.answer("/v1/notes/2", with: .response(.notFound))
    let results = await bench.notes.fetchAll(resources(3))
    #expect(results.map { try? $0.get().id } == [1, nil, 3])
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test(arguments: [(-1, 1), (1, 1), (3, 3), (50, 10), (.max, 10)])
  func `never more requests run at once than the limit`(_ limit: Int, _ most: Int) async throws {
    let (bench, gate) = (Bench(), Gate())
    for id in 1...10 { bench.transport.answer("/v1/notes/\(id)", with: .json(Note(id, "").json).held(at: gate)) }
    async let results = bench.notes.fetchAll(resources(10), maximumConcurrency: limit)
    try await bench.transport.waitForRequests(count: most)
    #expect(bench.transport.inFlight == most)
    gate.open()
    #expect(await results.allSatisfy { (try? $0.get()) != nil })
    #expect(bench.transport.maximumInFlight == most && bench.transport.requestCount == 10)
  }

  @Test func `the fetches of many resources are cancelled with their caller`() async throws {
    let (bench, gate) = (Bench(), Gate())
    for id in 1...4 { bench.transport.answer("/v1/notes/\(id)", with: .json(Note(id, "").json).held(at: gate)) }
    let task = Task { [notes = bench.notes] in await notes.fetchAll(resources(4), maximumConcurrency: 2) }
    try await bench.transport.waitForRequests(count: 2)
    task.cancel()
    let results = await task.value
    #expect(results.count == 4)
    for case .success in results { Issue.record("a cancelled fetch has a value") }
    try await bench.transport.waitForCancellations(count: 2)
    #expect(bench.transport.requestCount == 2)
    gate.open()
  }

  @Test func `a prefetch fills memory, and a fresh value needs none`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json))
    await bench.notes.prefetch("notes/1").value
    #expect(bench.notes.cached("notes/1")?.id == 1)
    await bench.notes.prefetch("notes/1").value
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a prefetch that fails is an event, and its cancellation ends the request`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .response(.notFound), .json(Note(1, "").json).held(at: gate))
    await bench.notes.prefetch("notes/1").value
    #expect(bench.log.names.contains(.failed))
    let ahead = bench.notes.prefetch("notes/1")
    try await bench.transport.waitForRequests(count: 2)
    ahead.cancel()
    await ahead.value
    try await bench.transport.waitForCancellations()
    gate.open()
  }
}

@Suite("Cancelling the request of a resource", .timeLimit(.minutes(5)))
struct CancellingRequestTests {
  @Test func `cancelling a request ends every caller's wait, and the next fetch sends a new request`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "old").json).held(at: gate), .json(Note(1, "new").json))
    let callers = (1...2).map { _ in Task { [notes = bench.notes] in try await notes.fetch("notes/1") } }
    try await bench.transport.waitForRequests()
    try await bench.log.wait(for: .joined)
    bench.notes.cancel("notes/1")
    for caller in callers {
      let error = await #expect(throws: ReactorError.self) { try await caller.value }
      guard case .cancelled? = error else { Issue.record("\(String(describing: error))"); continue }
    }
    try await bench.transport.waitForCancellations()
    gate.open()
    #expect(try await bench.notes.fetch("notes/1").text == "new")
  }

  @Test func `cancelling a request leaves a stream idle, with its value`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "old").json), .json(Note(1, "new").json).held(at: gate))
    var states = bench.notes.states(for: "notes/1").makeAsyncIterator()
    _ = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    await bench.notes.invalidate("notes/1")
    try await bench.transport.waitForRequests(count: 2)
    bench.notes.cancel("notes/1")
    let idle = try #require(await states.first { $0.fetchStatus == .idle })
    #expect(idle.value?.text == "old" && idle.error == nil)
    gate.open()
  }

  @Test func `a polling stream continues after its interval when its request is cancelled`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer(
      "/v1/notes/1", with: .json(Note(1, "old").json), .json(Note(1, "late").json).held(at: gate),
      .json(Note(1, "new").json))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "notes/1", polling: .seconds(10))
      .makeAsyncIterator()
    _ = await states?.first { $0.value != nil && $0.fetchStatus == .idle }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(10))
    try await bench.transport.waitForRequests(count: 2)
    bench.clock.advance(by: .seconds(5))
    bench.notes.cancel("notes/1")
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(9))
    #expect(bench.transport.requestCount == 2)
    bench.clock.advance(by: .seconds(1))
    #expect(await states?.first { $0.value?.text == "new" } != nil)
    gate.open()
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `cancelling a request shows the error to a stream without a value`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "").json).held(at: gate))
    var states = bench.notes.states(for: "notes/1").makeAsyncIterator()
    try await bench.transport.waitForRequests()
    bench.notes.cancel("notes/1")
    let state = try #require(await states.first { $0.fetchStatus == .idle && $0.error != nil })
    #expect(state.value == nil)
    gate.open()
  }

  @Test func `cancelling does nothing without a request`() async throws {
    let bench = Bench()
    bench.notes.cancel("notes/1")
    bench.notes.cancel(Resource("notes/1", method: .post))
    #expect(bench.log.names.isEmpty)
  }
}
