import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A 404 or 410 is newer than the stored value.
@Suite("A value that the server does not have any more", .timeLimit(.minutes(5)))
struct GoneValueTests {
  private struct Title: Codable, Sendable { var text: String }

  private func stored(_ bench: Bench) async throws -> Int {
    try await bench.persistence?.entries(in: nil, url: nil).count ?? 0
  }

  /// A bench that has the note, which is gone by now.
  private func bench(
    _ status: HTTPResponse.Status = .gone, persistence: (any Persistence)? = MemoryPersistence(),
    configure: (inout ReactorConfiguration) -> Void = { _ in }
  ) async throws -> Bench {
    let bench = Bench(persistence: persistence, configure: configure)
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json, headers: [.eTag: "\"1\""]), .response(status))
    _ = try await bench.notes.fetch("note")
    return bench
  }

  @Test(arguments: [HTTPResponse.Status.notFound, .gone], [FetchPolicy.networkFirst, .networkOnly])
  func `a value that the server reports gone is removed from memory and disk`(
    status: HTTPResponse.Status, policy: FetchPolicy
  ) async throws {
    let bench = try await bench(status)
    #expect(await error { try await bench.notes.fetch("note", policy: policy) }?.status == status.code)
    #expect(bench.notes.cached("note") == nil)
    #expect(try await stored(bench) == 0)
    // Nothing stands in when the network fails, and nothing is shown first.
    bench.transport.answer("/v1/note", with: .response(.serviceUnavailable))
    #expect(await error { try await bench.notes.fetch("note", policy: .networkFirst) }?.status == 503)
    let again = bench.restarted().notes
    #expect(await error { try await again.fetch("note", policy: .networkFirst) }?.status == 503)
    #expect(await error { try await again.fetch("note", policy: .staleWhileRevalidate) }?.status == 503)
  }

  @Test func `a value that was gone is requested without validators, and comes back`() async throws {
    let bench = try await bench()
    _ = await error { try await bench.notes.fetchFromNetwork("note") }
    bench.transport.answer("/v1/note", with: .json(Note(1, "again").json))
    #expect(try await bench.notes.fetch("note").text == "again")
    #expect(bench.transport.requests.last?.request.headerFields[.ifNoneMatch] == nil)
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "again")
  }

  @Test func `a value that the server does not have any more leaves streams, which get the error`() async throws {
    let bench = try await bench()
    var states = bench.notes.states(for: "note", policy: .staleWhileRevalidate).makeAsyncIterator()
    #expect(await states.next()?.value?.text == "one")
    let other = bench.layer.reactor(Title.self)
    _ = try await other.fetch("note")
    var others = other.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    #expect(await others.next()?.value?.text == "one")
    _ = await error { try await bench.notes.fetchFromNetwork("note") }
    let state = await states.first { $0.value == nil && $0.fetchStatus == .idle }
    #expect(state?.error?.status == 410 && state?.isRemoved == false)
    // A reactor of another type shows it no more either.
    #expect(await others.first { $0.value == nil }?.error?.status == 410)
    bench.transport.answer("/v1/note", with: .json(Note(1, "again").json))
    _ = try await bench.notes.fetchFromNetwork("note")
    #expect(await states.first { $0.value != nil }?.error == nil)
  }

  @Test func `a value that the server does not have any more stays where this program has written it`() async throws {
    let bench = try await bench()
    try await bench.notes.save(Note(2, "mine"), for: "note")
    _ = await error { try await bench.notes.fetchFromNetwork("note") }
    #expect(bench.notes.cached("note")?.text == "mine")
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "mine")
  }

  @Test func `a 404 does not remove a write that began after the request`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .response(.notFound).held(at: gate, ignoresCancellation: true))
    _ = try await bench.notes.fetch("note")
    let fetch = Task { try await bench.notes.fetchFromNetwork("note") }
    try await gate.waitForArrival()
    try await bench.notes.save(Note(2, "mine"), for: "note")
    gate.open()
    #expect(try await fetch.value.text == "mine")
    try await bench.transport.waitUntilIdle()
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "mine")
  }

  @Test func `a 404 removes the drafts that the server had accepted before`() async throws {
    let desk = try await NotesDesk()
    let (task, gate) = try await desk.begin("b", .accepted, count: 2)
    desk.bench.transport.answer("/v1/list", with: .response(.serviceUnavailable))
    gate.open()
    try await task.value
    #expect(desk.shown == ["a", "b"])
    desk.bench.transport.answer("/v1/list", with: .response(.gone))
    _ = await error { try await desk.notes.fetchFromNetwork(desk.list) }
    #expect(desk.shown == nil)
  }

  @Test func `a value that the server does not have any more stays with the option off`() async throws {
    let bench = try await bench { $0.removesGoneValues = false }
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.status == 410)
    #expect(bench.notes.cached("note")?.text == "one")
    #expect(try await stored(bench) == 1)
  }

  @Test func `a disk that fails keeps the record, and an event says so`() async throws {
    let disk = FaultyPersistence()
    let bench = try await bench(persistence: disk)
    disk.fail(.remove, with: Broken())
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.status == 410)
    #expect(bench.notes.cached("note") == nil)
    #expect(bench.log.count(.saveFailed) == 1)
  }

  @Test func `a removal that hangs does not hold the error of a value that is gone`() async throws {
    let disk = FaultyPersistence()
    let bench = try await bench(persistence: disk) { $0.persistenceBudget = .seconds(5) }
    let gate = disk.hold(.remove)
    let fetch = Task { try await bench.notes.fetchFromNetwork("note") }
    try await gate.reached()
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(5))
    #expect(await error { try await fetch.value }?.status == 410)
    #expect(bench.notes.cached("note") == nil)
    gate.open()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `an unknown resource costs no write`() async throws {
    let disk = FaultyPersistence()
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .response(.notFound))
    #expect(await error { try await bench.notes.fetch("note") }?.status == 404)
    #expect(disk.calls(.remove) == 0 && disk.calls(.entries) == 0)
  }
}
