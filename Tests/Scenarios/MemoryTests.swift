import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// The models that stay in memory, and for how long.
@Suite("Memory of a reactor", .timeLimit(.minutes(5)))
struct MemoryTests {
  @Test func `an unused model leaves memory after keepUnusedFor, and stays on disk`() async throws {
    let bench = Bench { $0.keepUnusedFor = .seconds(300) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    _ = try await bench.notes.fetch("note")
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(299))
    #expect(bench.log.count(.evicted) == 0)
    bench.clock.advance(by: .seconds(1))
    try await bench.log.wait(for: .evicted)
    #expect(bench.notes.cached("note") == nil)
    #expect(try await bench.notes.fetch("note", policy: .cacheOnly).text == "one")
  }

  @Test func `an observed model stays, and leaves keepUnusedFor after its last observer`() async throws {
    let bench = Bench { $0.keepUnusedFor = .seconds(300) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(1_000))
    // Nothing is left that could be evicted, so no task sleeps.
    try await bench.clock.waitUntilNobodySleeps()
    #expect(bench.notes.cached("note") != nil)
    states = nil
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(299))
    #expect(bench.log.count(.evicted) == 0)
    bench.clock.advance(by: .seconds(1))
    try await bench.log.wait(for: .evicted)
    try await bench.clock.waitUntilNobodySleeps()
  }

  @Test func `beyond the limit the least recently used leaves first, and never what is observed`() async throws {
    let bench = Bench { $0.memoryLimit = ReactorConfiguration.MemoryLimit(models: 2) }
    for name in ["a", "b", "c", "d"] {
      bench.transport.answer("/v1/\(name)", with: .json(Note(1, name).json))
    }
    _ = try await bench.notes.fetch("a")
    _ = try await bench.notes.fetch("b")
    _ = try await bench.notes.fetch("a")
    _ = try await bench.notes.fetch("c")
    #expect(bench.notes.cached("b") == nil)
    #expect(bench.notes.cached("a") != nil && bench.notes.cached("c") != nil)
    var states = bench.notes.states(for: "a", policy: .cacheOnly).makeAsyncIterator()
    _ = await states.next()
    _ = bench.notes.cached("c")
    _ = try await bench.notes.fetch("d")
    #expect(bench.notes.cached("a") != nil && bench.notes.cached("c") == nil)
    _ = states
  }

  @Test func `a copy that is read through another resource of its key counts as used`() async throws {
    let bench = Bench { $0.memoryLimit.models = 2 }
    for path in ["a", "b", "c"] { bench.transport.answer("/v1/\(path)", with: .json(Note(1, path).json)) }
    _ = try await bench.notes.fetch("a")
    _ = try await bench.notes.fetch("b")
    _ = try await bench.notes.fetch(Resource("a", headers: [.userAgent: "another"]))
    _ = try await bench.notes.fetch("c")
    #expect(bench.notes.cached("a") != nil)
    #expect(bench.notes.cached("b") == nil)
  }

  @Test func `the limit counts bytes of payload too`() async throws {
    let one = Note(1, String(repeating: "x", count: 1_000))
    let bench = Bench { $0.memoryLimit = ReactorConfiguration.MemoryLimit(bytes: 2_500) }
    for name in ["a", "b", "c"] {
      bench.transport.answer("/v1/\(name)", with: .json(one.json))
      _ = try await bench.notes.fetch(Resource(name))
    }
    #expect(bench.notes.cached("a") == nil)
    #expect(bench.notes.cached("b") != nil && bench.notes.cached("c") != nil)
  }

  @Test func `two resources of one key share what is in memory`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    _ = try await bench.notes.fetch("note")
    var traced: Resource = "/note"
    traced.headers[.userAgent] = "trace"
    traced.freshFor = .seconds(1_000)
    #expect(try await bench.notes.fetch(traced).text == "one")
    _ = try await bench.notes.fetchFromNetwork(traced)
    #expect(bench.notes.cached("note")?.text == "two")
    try await bench.notes.remove("note")
    #expect(bench.notes.cached(traced) == nil)
  }

  /// A clock that stands still, and wakes its sleepers at once.
  private final class Restless: Clock {
    let sleeps = Atomic<Int>(0)
    var now: TestClock.Instant { TestClock.Instant() }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
      sleeps.add(1, ordering: .relaxed)
      try Task.checkCancellation()
    }
  }

  @Test func `eviction does not examine observed models again and again`() async throws {
    let clock = Restless()
    let bench = Bench {
      $0.clock = clock
      $0.keepUnusedFor = .zero
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "note").json))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.value != nil && $0.fetchStatus == .idle } != nil)
    for number in 0..<50 { try await bench.notes.save(Note(number, "other"), for: "note") }
    let revision = await states.next()?.revision ?? 0
    #expect(clock.sleeps.load(ordering: .relaxed) <= 3 * Int(revision))
  }

  @Test func `a released reactor leaves nothing that sleeps`() async throws {
    let clock = TestClock()
    do {
      let bench = Bench(clock: clock) { $0.keepUnusedFor = .seconds(300) }
      bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
      _ = try await bench.notes.fetch("note")
      try await clock.waitForSleepers()
    }
    try await clock.waitUntilNobodySleeps()
    #expect(clock.sleeperCount == 0)
  }
}

@Suite("A model layer", .timeLimit(.minutes(5)))
struct ModelLayerTests {
  @Test func `a layer has one reactor for each type`() {
    let bench = Bench()
    #expect(bench.layer.reactor(Note.self) === bench.layer.reactor(Note.self))
    #expect(bench.layer.reactor(Note.self) !== bench.layer.reactor(Note.self, parser: .json()))
  }

  @Test func `removeAll forgets what every reactor has, and on disk`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    bench.transport.answer("/v1/notes", with: .json("[\(Note(1, "one").json)]"))
    let lists = bench.layer.reactor([Note].self)
    _ = try await bench.notes.fetch("note")
    _ = try await lists.fetch("notes")
    var states = lists.states(for: "notes").makeAsyncIterator()
    #expect(await states.next()?.value != nil)
    try await bench.layer.removeAll()
    #expect(bench.notes.cached("note") == nil && lists.cached("notes") == nil)
    #expect(await states.next()?.value == nil)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `its events are a sequence too`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var events = bench.layer.events.makeAsyncIterator()
    _ = try await bench.notes.fetch("note")
    var names: [ReactorEvent.Kind.Name] = []
    while names.last != .saved, let event = await events.next(isolation: nil) {
      names.append(event.kind.name)
      #expect(event.key.description == "GET https://api.example.com/v1/note" && event.model == "Note")
    }
    #expect(names.first == .memoryMiss && names.count == 6)
  }
}
