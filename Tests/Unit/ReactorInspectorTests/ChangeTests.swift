import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorInspector

@Suite("What an inspector changes", .timeLimit(.minutes(5)))
struct ChangeTests {
  private func id(of path: String, _ inspector: Inspector) async throws -> String {
    var feed = await inspector.live()
    let rows = try await feed.frame().rows
    return try #require(rows.first { $0.key.hasSuffix(path) }).id
  }

  @Test func `is one key: invalidated, requested again, removed`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(2, "two").json))
    let inspector = Inspector(bench)
    _ = try await bench.notes.fetch("note")
    let id = try await id(of: "/note", inspector)

    #expect(await inspector.post("/inspector/invalidate?key=\(id)").status == .noContent)
    #expect(bench.notes.states(for: "note", policy: .cacheOnly).current.isStale)
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).id == 1)

    #expect(await inspector.post("/inspector/refetch?key=\(id)").status == .noContent)
    try await bench.log.wait(for: .saved, count: 2)
    do {
      var states = bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
      #expect(await states.first { $0.value?.id == 2 } != nil)
    }

    #expect(await inspector.post("/inspector/remove?key=\(id)").status == .noContent)
    #expect(bench.notes.cached("note") == nil)
    await #expect(throws: ReactorError.self) { try await bench.restarted().notes.fetch("note", policy: .cacheOnly) }
    #expect(await inspector.post("/inspector/refetch?key=\(id)").status == .conflict)
    #expect(await inspector.post("/inspector/remove?key=0").status == .notFound)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `is nothing without the page's token`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let inspector = Inspector(bench)
    _ = try await bench.notes.fetch("note")
    let id = try await id(of: "/note", inspector)
    for token in ["x", await Inspector(bench).token()] {
      #expect(await inspector.post("/inspector/remove?key=\(id)", token: token).status == .forbidden)
      #expect(await inspector.post("/inspector/offline?on=true", token: token).status == .forbidden)
    }
    #expect(bench.notes.cached("note") != nil && !bench.layer.isOffline)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `fails aloud where the disk does`() async throws {
    let disk = FaultyPersistence(MemoryPersistence())
    let bench = Bench(persistence: disk)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let inspector = Inspector(bench)
    _ = try await bench.notes.fetch("note")
    let id = try await id(of: "/note", inspector)
    disk.fail(.remove, with: TransportError.connectionFailed("full"))
    #expect(await inspector.post("/inspector/remove?key=\(id)").status == .internalServerError)
    #expect(bench.notes.cached("note") == nil)
    try await bench.waitUntilNothingWaits()
  }
}

@Suite("A layer that an inspector has taken offline", .timeLimit(.minutes(5)))
struct OfflineTests {
  @Test func `fails one-shot callers, pauses streams, and continues`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let inspector = Inspector(bench)
    #expect(await inspector.post("/inspector/offline?on=true").status == .noContent)
    await #expect(throws: ReactorError.self) { try await bench.notes.fetch("note") }
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    let paused = await states.first { $0.fetchStatus == .paused }
    #expect(paused?.value == nil)
    #expect(bench.transport.requestCount == 0)
    var feed = await inspector.live()
    let frame = try await feed.frame()
    #expect(frame.isOffline && frame.rows.map(\.phase) == ["paused"])

    // A change of the system's connectivity changes nothing.
    bench.reachability.set(false)
    bench.reachability.set(true)
    try await bench.log.wait(for: .paused, count: 2)
    #expect(bench.transport.requestCount == 0)

    #expect(await inspector.post("/inspector/offline?on=false").status == .noContent)
    #expect(await states.first { $0.value != nil }?.value?.id == 1)
    #expect(bench.transport.requestCount == 1)
    #expect(try await feed.frame(after: bench.clock).isOffline == false)
    _ = states
  }

  @Test func `asks no loopback host either, nor where connectivity is not checked`() async throws {
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    var configuration = ReactorConfiguration()
    configuration.checksReachability = false
    configuration.retry = .never
    let url = try #require(URL(string: "http://127.0.0.1:1"))
    let layer = ModelLayer(baseURL: url, transport: transport, configuration: configuration)
    layer.isOffline = true
    let notes = layer.reactor(Note.self)
    await #expect(throws: ReactorError.self) { try await notes.fetch("note") }
    await #expect(throws: ReactorError.self) { try await notes.send(Resource("note", method: .post)) }
    #expect(transport.requestCount == 0)
    layer.isOffline = false
    #expect(try await notes.fetch("note").id == 1)
  }

  @Test func `a layer that an inspector has taken offline makes no second attempt`() async throws {
    let bench = Bench { $0.retry = RetryPolicy(attempts: 2) }
    bench.transport.answer("/v1/note", with: .response(.serviceUnavailable), .json(Note(1, "one").json))
    let fetch = Task { try await bench.notes.fetch("note") }
    try await bench.log.wait(for: .retry)
    bench.layer.isOffline = true
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(60))
    await #expect(throws: ReactorError.self) { try await fetch.value }
    #expect(bench.transport.requestCount == 1)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `requests what is observed and stale when it is online again`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(2, "two").json))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    bench.layer.isOffline = true
    bench.clock.advance(by: .seconds(3_600))
    bench.layer.isOffline = true
    #expect(bench.transport.requestCount == 1)
    bench.layer.isOffline = false
    #expect(await states.first { $0.value?.id == 2 } != nil)
    _ = states
  }
}
