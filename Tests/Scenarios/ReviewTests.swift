import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// What one reactor does, as the others of its layer see it.
@Suite("Reactors of one layer", .timeLimit(.minutes(1)))
struct LayerTests {
  private struct Title: Codable, Sendable { var text: String }

  @Test func `a method that changes something invalidates what only memory has, whatever its identity headers`()
    async throws
  {
    let bench = Bench(persistence: nil)
    bench.transport.answer("/v1/note", with: .json(Note(1, "before").json))
    var german = Resource("note", headers: [.acceptLanguage: "de"])
    german.identityHeaders = [.acceptLanguage]
    _ = try await bench.notes.fetch(german)
    bench.transport.answer("/v1/note", with: .json(Note(1, "posted").json), .json(Note(1, "after").json))
    _ = try await bench.notes.send(Resource("note", method: .post))
    #expect(try await bench.notes.fetch(german).text == "after")
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .cacheOnly, .networkFirst])
  func `a stream that has only an error sees what another reactor stores`(policy: FetchPolicy) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .response(.internalServerError))
    var states = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
    #expect(await states.first { $0.error != nil && $0.fetchStatus == .idle } != nil)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let requests = bench.transport.requestCount
    _ = try await bench.layer.reactor(Title.self).fetch("note")
    let state = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    #expect(state?.value?.text == "one")
    #expect(state?.error == nil)
    #expect(bench.transport.requestCount == requests + 1)
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
}

/// What a flow's steps may do.
@Suite("Steps of a flow", .timeLimit(.minutes(1)))
struct StepTests {
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

  @Test func `a local value that has no bytes does not count as saved`() async throws {
    let bench = Bench()
    let parser = Parser<Note>(parse: { _ in throw Broken() }, encode: { _ in throw Broken() })
    try await bench.layer.reactor(parser: parser).save(Note(1, "mine"), for: "note")
    #expect(bench.log.count(.notEncoded) == 1)
    #expect(bench.log.count(.savedLocally) == 1 && bench.log.count(.saved) == 0)
  }
}

/// What the memory keeps, and what it costs to keep it.
@Suite("Use of memory", .timeLimit(.minutes(1)))
struct MemoryUseTests {
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

  /// Stands still, and wakes whoever sleeps at once.
  private final class Restless: Clock {
    let sleeps = Atomic<Int>(0)
    var now: TestClock.Instant { TestClock.Instant() }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
      sleeps.add(1, ordering: .relaxed)
      try Task.checkCancellation()
    }
  }

  @Test func `what is observed is not looked at again and again to be evicted`() async throws {
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
}

/// The sequence of events for a slow reader.
@Suite("Lost events", .timeLimit(.minutes(1)))
struct LostEventTests {
  @Test func `what a slow reader has lost is told after what came before it`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "one"), for: "note")
    var events = bench.layer.events.makeAsyncIterator()
    for _ in 0..<10 { _ = try await bench.notes.fetch("note") }
    for _ in 0..<10 { _ = await events.next(isolation: nil) }
    for _ in 0..<1_029 { _ = try await bench.notes.fetch("note") }
    for _ in 0..<1_024 { #expect(await events.next(isolation: nil)?.kind.name == .memoryHit) }
    guard case .dropped(5) = await events.next(isolation: nil)?.kind else {
      return #expect(Bool(false), "none was lost")
    }
  }
}
