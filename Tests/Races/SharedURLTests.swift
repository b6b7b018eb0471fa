import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore

/// Another type of the same URL. A top-level type: its name is part of what a local record says.
private struct Title: Codable, Sendable {
  var text: String
}

/// A model that no response decodes to.
private struct Picky: Codable, Sendable {
  var isThere: Bool
}

/// Two types of one URL have a memory and a flight each, and one record.
@Suite("Races of two types on one URL", .timeLimit(.minutes(5)))
struct SharedURLTests {
  private static let type = HTTPField.Name("X-Type") ?? .range
  private static let note = Resource("note", headers: [type: "note"])
  private static let title = Resource("note", headers: [type: "title"])

  /// A layer in which each of the first ten requests for a note is overtaken by one for a title.
  private func overtaking(persistence: (any Persistence)?) -> (Bench, Reactor<Title>) {
    let titles = Shared<Reactor<Title>?>(nil)
    let (noteCount, titleCount) = (Shared(0), Shared(0))
    let bench = Bench(
      persistence: persistence,
      transport: ScriptedTransport { request, _ in
        guard request.headerFields[Self.type] == "note" else {
          return .json(Note(1, "title \(titleCount.change { $0 += 1; return $0 })").json)
        }
        let number = noteCount.change {
          $0 += 1; return $0
        }
        if number <= 10 { _ = try await titles.value?.fetchFromNetwork(Self.title) }
        return .json(Note(1, "note \(number)").json)
      })
    let reactor: Reactor<Title> = bench.layer.reactor()
    titles.change { $0 = reactor }
    return (bench, reactor)
  }

  @Test func `an answer that another type's has overtaken is not requested again: the newer record is read`()
    async throws
  {
    let (bench, _) = overtaking(persistence: MemoryPersistence())
    #expect(try await bench.notes.fetchFromNetwork(Self.note).text == "title 1")
    #expect(bench.transport.requestCount == 2)
    #expect(bench.notes.cached(Self.note)?.text == "title 1")
    #expect(try await bench.restarted().notes.fetch(Self.note, policy: .cacheOnly).text == "title 1")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `if the newer record cannot be read, the response is returned, and counts as stale`() async throws {
    let (bench, _) = overtaking(persistence: nil)
    var states = bench.notes.states(for: Self.note).makeAsyncIterator()
    let state = await states.first { $0.value != nil }
    #expect(state?.value?.text == "note 1")
    #expect(state?.isStale == true)
    #expect(bench.transport.requestCount == 2)
    #expect(try await bench.notes.fetch(Self.note).text == "note 2")
  }

  @Test func `a slow type completes next to a polling one`() async throws {
    let bench = Bench(
      transport: ScriptedTransport { request, _ in .json(Note(1, request.headerFields[Self.type] ?? "").json) })
    var flow = bench.layer.flow(Note.self)
    let (network, clock) = (flow.network, bench.clock)
    flow.network = { resource, context in
      let snapshot = try await network(resource, context)
      try await clock.sleep(for: .milliseconds(150))
      return snapshot
    }
    let slow = Reactor(flow: flow)
    let titles = bench.layer.reactor(Title.self)
    let polling = titles.states(for: Self.title, polling: .milliseconds(50)).subscribe()
    while let state = await polling.next(), state.value == nil {}
    let fetching = Task { try await slow.fetchFromNetwork(Self.note).text }
    try await bench.clock.waitForSleepers(count: 2)
    for number in 2...4 {
      bench.clock.advance(by: .milliseconds(50))
      if number < 4 { try await bench.log.wait(for: .response, count: number + 1) }
      if number < 4 { try await bench.clock.waitForSleepers(count: 2) }
    }
    #expect(try await fetching.value == "title")
  }

  @Test func `a stream of a slow type never goes back`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "early").json).held(at: gate), .json(Note(1, "late").json))
    var states = bench.notes.states(for: "note", policy: .networkFirst).makeAsyncIterator()
    #expect(await states.next()?.fetchStatus == .fetching)
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(1))
    #expect(try await bench.layer.reactor(Title.self).fetchFromNetwork("note").text == "late")
    // It joins, and is content with what is on disk by then.
    #expect(try await bench.notes.fetch("note").text == "late")
    gate.open()
    var seen: [String] = []
    while let state = await states.next() {
      if let text = state.value?.text { seen.append(text) }
      if state.fetchStatus == .idle { break }
    }
    #expect(Set(seen) == ["late"])
    #expect(bench.transport.requestCount == 2)
  }
}

/// A type stores something, and another has the URL in memory.
@Suite("What a type stores, beside another type", .timeLimit(.minutes(5)))
struct StoredElsewhereTests {
  private func stored(_ text: String, _ control: String, tag: String? = nil) -> ScriptedTransport.Answer {
    var fields: HTTPFields = [.cacheControl: control]
    if let tag { fields[.eTag] = tag }
    return .json(Note(1, text).json, fields: fields)
  }

  @Test func `an answer that may not be stored leaves another type's copy fresh`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: stored("one", "max-age=60"), stored("two", "no-store"))
    _ = try await bench.notes.fetch("note")
    #expect(try await bench.layer.reactor(Title.self).fetchFromNetwork("note").text == "two")
    #expect(try await bench.notes.fetch("note").text == "one")
    #expect(bench.transport.requestCount == 2)
    #expect(bench.log.count(.saved) == 1)
  }

  @Test func `a 304 for a copy only in memory leaves another type's copy fresh`() async throws {
    let bench = Bench()
    let fields: HTTPFields = [.eTag: "\"1\""]
    bench.transport.answer(
      "/v1/note", with: stored("one", "max-age=60", tag: "\"1\""), .response(.notModified, fields: fields))
    let titles = bench.layer.reactor(Title.self)
    _ = try await bench.notes.fetch("note")
    _ = try await titles.fetch("note")
    try await bench.persistence?.removeAll(in: nil)
    bench.clock.advance(by: .seconds(1))
    #expect(try await titles.fetchFromNetwork("note").text == "one")
    #expect(bench.log.count(.notModified) == 1)
    #expect(try await bench.notes.fetch("note").text == "one")
    #expect(bench.transport.requestCount == 2)
  }

  @Test(arguments: FetchPolicy.allCases)
  func `a stream says that nothing is cached only where that is all it asks`(policy: FetchPolicy) async throws {
    let bench = Bench(except: [.concurrentRequests])
    let answer = Gate(isOpen: true)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: answer))
    let stream = bench.layer.reactor(Picky.self).states(for: "note", policy: policy).subscribe()
    while let state = await stream.next(), state.fetchStatus != .idle {}
    try await bench.notes.remove("note")
    // It is told of a newer record, reads that, and cannot.
    _ = try await bench.notes.fetch("note")
    try await bench.log.wait(for: .loadFailed)
    #expect(stream.latest()?.error?.isNotCached == (policy == .cacheOnly ? true : nil))
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
}

/// A local write is known to the layer's other reactors.
@Suite("A local write, beside another type", .timeLimit(.minutes(5)))
struct WrittenElsewhereTests {
  @Test(arguments: [true, false])
  func `a local write makes another type's copy stale without a request`(isPersistent: Bool) async throws {
    let bench = Bench(persistence: isPersistent ? MemoryPersistence() : nil)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    let titles = bench.layer.reactor(Title.self)
    let stream = titles.states(for: "note").subscribe()
    while let state = await stream.next(), state.value == nil {}
    bench.clock.advance(by: .seconds(1))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    var state = stream.latest()
    #expect(state?.value?.text == "one")
    #expect(state?.isStale == true)
    while state?.fetchStatus != .idle { state = await stream.next() }
    #expect(state?.error == nil)
    #expect(bench.transport.requestCount == 1)
    #expect(bench.notes.cached("note")?.text == "mine")
    // Every caller gets the server's word, which replaces the written value.
    #expect(try await titles.fetch("note").text == "two")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `a local write is seen by another reactor of its type`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let other = bench.layer.reactor(Note.self, parser: nil)
    let stream = other.states(for: "note").subscribe()
    while let state = await stream.next(), state.value == nil {}
    bench.clock.advance(by: .seconds(1))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    while let state = await stream.next(), state.value?.text != "mine" {}
    #expect(try await other.fetch("note").text == "mine")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a local write survives another type's fetch in flight, in memory and on disk`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "server's").json).held(at: gate))
    let titles = bench.layer.reactor(Title.self)
    let fetching = Task { try await titles.fetch("note").text }
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(1))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    gate.open()
    #expect(try await fetching.value == "server's")
    #expect(bench.notes.cached("note")?.text == "mine")
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "mine")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a fetch of another type after a local write gets the newer response`() async throws {
    let bench = Bench(except: [.concurrentRequests])
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "before").json).held(at: gate, ignoresCancellation: true),
      .json(Note(1, "after").json))
    let titles = bench.layer.reactor(Title.self)
    let early = Task { try await titles.fetch("note").text }
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(1))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    #expect(try await titles.fetch("note").text == "after")
    #expect(try await early.value == "after")
    gate.open()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `after a local write that could not be saved, no reader gets the older record`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "server's").json))
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(1))
    disk.failAlways(.save, with: Record.Failure.truncated)
    let titles = bench.layer.reactor(Title.self)
    try await titles.save(Title(text: "my title"), for: "note")
    let stream = titles.states(for: "note", policy: .cacheOnly).subscribe()
    while let state = await stream.next(), state.value == nil {}
    try await bench.notes.save(Note(1, "mine"), for: "note")
    // It is stale, and still the latest that this type has: what is on disk is the server's of
    // before.
    var state = stream.latest()
    while state?.fetchStatus != .idle { state = await stream.next() }
    #expect(state?.value?.text == "my title")
    #expect(state?.isStale == true)
  }
}

/// An answer is as old as the request that it answers, and not as the flight that sent it.
@Suite("A retry, beside another type", .timeLimit(.minutes(5)))
struct RetriedElsewhereTests {
  private let busy = ScriptedTransport.Answer.response(.serviceUnavailable, fields: [.retryAfter: "5"])

  @Test func `a retried response is newer than a response to an earlier request`() async throws {
    let bench = Bench { $0.retry = RetryPolicy() }
    let titles = bench.layer.reactor(Title.self)
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: busy, .json(Note(1, "between").json).held(at: gate), .json(Note(1, "retried").json))
    let early = Task { try await bench.notes.fetch("note").text }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(1))
    let between = Task { try await titles.fetch("note").text }
    try await gate.waitForArrival()
    bench.clock.advance(by: .seconds(4))
    #expect(try await early.value == "retried")
    gate.open()
    // The answer is older than the stored one.
    #expect(try await between.value == "retried")
    #expect(bench.notes.cached("note")?.text == "retried")
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "retried")
    try await bench.waitUntilNothingWaits()
  }
}
