import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Waiters that join and leave a flight: each order forced step by step.
@Suite("Races of flights and cancellation", .timeLimit(.minutes(5)))
struct FlightRaceTests {
  @Test func `a caller that leaves gets cancelled at once, and the others their answer`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let stays = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    let leaves = Task { await error { try await notes.fetch("note") } }
    try await bench.log.wait(for: .joined)
    leaves.cancel()
    #expect(await leaves.value?.isCancelled == true)
    #expect(bench.transport.cancellationCount == 0)
    gate.open()
    #expect(try await stays.value == "one")
    #expect(bench.transport.requestCount == 1)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `the first caller may leave, and the flight that it began continues`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let first = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    let second = Task { try await notes.fetch("note").text }
    try await bench.log.wait(for: .joined)
    first.cancel()
    #expect(await first.value?.isCancelled == true)
    gate.open()
    #expect(try await second.value == "one")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `the last that leaves cancels the transport`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let callers = (0..<3).map { _ in Task { await error { try await notes.fetch("note") } } }
    try await bench.log.wait(for: .joined, count: 2)
    try await gate.waitForArrival()
    for caller in callers { caller.cancel() }
    for caller in callers { #expect(await caller.value?.isCancelled == true) }
    try await bench.transport.waitForCancellations()
    #expect(bench.log.count(.cancelled) == 1)
    #expect(gate.waitingCount == 0)
  }

  @Test func `a caller that is cancelled before it fetches sends no request`() async throws {
    let bench = Bench()
    let notes = bench.notes
    let go = Gate()
    let caller = Task {
      await go.waitIgnoringCancellation()
      return await error { try await notes.fetch("note") }
    }
    caller.cancel()
    go.open()
    #expect(await caller.value?.isCancelled == true)
    #expect(bench.transport.requestCount == 0)
    #expect(bench.log.events.isEmpty)
  }

  @Test func `a fetch after a cancelled flight begins another`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "late").json).held(at: gate, ignoresCancellation: true),
      .json(Note(1, "second").json))
    let notes = bench.notes
    let first = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    first.cancel()
    _ = await first.value
    #expect(try await notes.fetch("note").text == "second")
    gate.open()
    try await bench.log.wait(for: .response, count: 2)
    // The answer of the cancelled flight, begun earlier, overwrites nothing.
    #expect(notes.cached("note")?.text == "second")
    #expect(try await bench.restarted().notes.fetch("note").text == "second")
  }

  @Test func `a stream keeps the flight alive that its caller left, and the other way round`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let caller = Task { await error { try await notes.fetch("note") } }
    try await gate.waitForArrival()
    var states = notes.states(for: "note").makeAsyncIterator()
    #expect(await states.next()?.fetchStatus == .fetching)
    caller.cancel()
    _ = await caller.value
    #expect(bench.transport.cancellationCount == 0)
    gate.open()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
  }

  @Test func `the last stream that ends cancels the transport`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let reader = Task {
      for await _ in notes.states(for: "note") {}
    }
    try await gate.waitForArrival()
    reader.cancel()
    await reader.value
    try await bench.transport.waitForCancellations()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a background revalidation is the layer's own, and outlives the caller`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    let notes = bench.notes
    _ = try await notes.fetch("note")
    let caller = Task { try await notes.fetch("note", policy: .staleWhileRevalidate).text }
    #expect(try await caller.value == "one")
    caller.cancel()
    try await gate.waitForArrival()
    // A second one, while that is under way, begins no other.
    #expect(try await notes.fetch("note", policy: .staleWhileRevalidate).text == "one")
    gate.open()
    try await bench.log.wait(for: .saved, count: 2)
    // It is saved before it is shown.
    var states = notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states.first { $0.value?.text == "two" } != nil)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `cacheFirst joins a request that networkOnly began, and still looks at persistence first`() async throws {
    let first = Bench()
    first.transport.answer("/v1/note", with: .json(Note(1, "stored").json))
    _ = try await first.notes.fetch("note")
    let bench = first.restarted()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "new").json).held(at: gate))
    let notes = bench.notes
    let refresh = Task { try await notes.fetchFromNetwork("note").text }
    try await gate.waitForArrival()
    // Persistence answers this one, while the request of the other is still out.
    #expect(try await notes.fetch("note").text == "stored")
    gate.open()
    #expect(try await refresh.value == "new")
    #expect(notes.cached("note")?.text == "new")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `networkOnly joins the flight of a cacheFirst that found persistence empty`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let notes = bench.notes
    let first = Task { try await notes.fetch("note").text }
    try await gate.waitForArrival()
    let second = Task { try await notes.fetchFromNetwork("note").text }
    try await bench.log.wait(for: .joined)
    gate.open()
    #expect(try await first.value == "one")
    #expect(try await second.value == "one")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a joining caller of higher priority raises the flight's`() async throws {
    let seen = Gate()
    let go = Gate()
    let transport = ScriptedTransport { _, _ in
      seen.open()
      await go.waitIgnoringCancellation()
      return .json(Note(Int(Task.currentPriority.rawValue), "priority").json)
    }
    let bench = Bench(transport: transport)
    let notes = bench.notes
    let low = Task(priority: .background) { try await notes.fetch("note").id }
    try await transport.waitForRequests()
    let high = Task(priority: .high) { try await notes.fetch("note").id }
    try await bench.log.wait(for: .joined)
    go.open()
    #expect(try await low.value >= Int(TaskPriority.high.rawValue))
    #expect(try await high.value >= Int(TaskPriority.high.rawValue))
  }
}
