import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorCore
@testable import ReactorInspector

@Suite("The live feed of an inspector", .timeLimit(.minutes(5)))
struct LiveTests {
  private func bench(keys: Int = 0) async throws -> Bench {
    let bench = Bench(transport: ScriptedTransport { _, _ in .json(Note(1, "one").json) }) {
      $0.memoryLimit = ReactorConfiguration.MemoryLimit(models: 20_000)
      $0.freshFor = .seconds(60)
    }
    for number in 0..<keys { _ = try await bench.notes.fetch(Resource("notes/\(number)")) }
    return bench
  }

  @Test func `the live feed of an inspector begins with all that is known, then tells what has changed`() async throws {
    let bench = try await bench(keys: 1)
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    let first = try await feed.frame()
    #expect(first.isFirst && !first.isOffline && !first.hasFlux)
    #expect(first.rows.map(\.key) == ["GET https://api.example.com/v1/notes/0"])
    #expect(first.rows.map(\.state) == ["fresh"] && first.rows.map(\.origin) == ["network"])
    #expect(first.rows.first?.lifetime == 60_000 && first.rows.first?.age == 0)
    bench.clock.advance(by: .seconds(5))
    _ = try await bench.notes.fetch("notes/1")
    let second = try await feed.frame(after: bench.clock)
    #expect(!second.isFirst)
    #expect(second.rows.map(\.key) == ["GET https://api.example.com/v1/notes/1"])
    #expect(second.events.first?.event.name == "memoryMiss" && second.events.last?.event.name == "saved")
    #expect(second.totals.requests == 1)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the live feed of an inspector tells who observes, and a copy that turns stale or leaves`() async throws {
    let bench = try await bench(keys: 2)
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    _ = try await feed.frame()
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "notes/0").makeAsyncIterator()
    _ = await states?.next()
    #expect(try await feed.frame(after: bench.clock).rows.map(\.observers) == [1])
    states = nil
    #expect(try await feed.frame(after: bench.clock).rows.map(\.observers) == [0])
    await bench.notes.invalidate("notes/0")
    #expect(try await feed.frame(after: bench.clock).rows.map(\.state) == ["invalidated"])
    try await bench.notes.remove("notes/0")
    #expect(try await feed.frame(after: bench.clock).rows.map(\.state) == ["absent"])
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the live feed of an inspector is a comment now and then while nothing happens`() async throws {
    let bench = try await bench()
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    _ = try await feed.frame()
    async let comment = feed.next()
    for _ in 0..<LiveFeed.silence {
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: LiveFeed.interval)
    }
    #expect(await comment == Data(": nothing has changed\n\n".utf8))
    withExtendedLifetime(inspector) {}
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the live feed of an inspector ends with the inspector`() async throws {
    let bench = try await bench(keys: 1)
    var inspector: Inspector? = Inspector(bench)
    var feed = try #require(await inspector?.live())
    _ = try await feed.frame()
    async let end = feed.next()
    try await bench.clock.waitForSleepers()
    inspector = nil
    bench.clock.advance(by: LiveFeed.interval)
    #expect(await end == nil)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `of three thousand keys comes in pieces, and continues in small ones`() async throws {
    let bench = try await bench(keys: 3_000)
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    let first = try #require(await feed.next())
    // About 260 bytes a row.
    #expect(first.count < 300_000)
    var rows = try ReadFrame(first).rows
    for _ in 1..<3 { rows += try await feed.frame(after: bench.clock).rows }
    #expect(rows.count == 3_000 && Set(rows.map(\.id)).count == 3_000)
    #expect(rows.map(\.key) == rows.map(\.key).sorted())
    _ = try await bench.notes.fetchFromNetwork("notes/77")
    let delta = try await feed.frame(after: bench.clock)
    #expect(delta.rows.map(\.key) == ["GET https://api.example.com/v1/notes/77"])
    try await bench.waitUntilNothingWaits()
  }

  @Test func `holds a set of keys for a slow reader, and nothing for the rest`() async throws {
    let bench = try await bench(keys: 10)
    let inspector = Inspector(bench)
    var feed = await inspector.live()
    _ = try await feed.frame()
    // No task reads meanwhile.
    for number in 0..<3_000 { _ = try await bench.notes.fetchFromNetwork(Resource("notes/\(number % 10)")) }
    let frame = try await feed.frame(after: bench.clock)
    #expect(frame.rows.count == 10)
    #expect(frame.events.count == Frame.events)
    #expect(frame.totals.requests == 3_000)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the live feed of an inspector lists no more keys for a reader who does not come than all of them`() {
    let changes = KeyChanges()
    let watch = changes.watch()
    for number in 0...KeyChanges.limit {
      changes.note(RecordKey(method: .get, url: "https://a.example/\(number)"))
    }
    #expect(watch.consume() == nil)
    #expect(watch.consume() == [])
    changes.note(RecordKey(method: .get, url: "https://a.example/"))
    #expect(watch.consume()?.count == 1)
  }

  @Test func `the live feed of an inspector leaves nothing of a reader who has gone`() async throws {
    let bench = try await bench(keys: 1)
    weak var recorder: Recorder?
    do {
      let inspector = Inspector(bench)
      recorder = inspector.recorder
      do {
        var feed = await inspector.live()
        _ = try await feed.frame()
        #expect(bench.layer.keyWatchers == 1)
      }
      #expect(bench.layer.keyWatchers == 0)
      let waiting = Task {
        var feed = await inspector.live()
        _ = await feed.next()
        return await feed.next()
      }
      try await bench.clock.waitForSleepers()
      waiting.cancel()
      #expect(await waiting.value == nil)
      #expect(bench.layer.keyWatchers == 0)
      #expect(recorder != nil)
    }
    #expect(recorder == nil)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `begins again when a layer comes or goes, and keeps none alive`() async throws {
    let bench = try await bench(keys: 1)
    let inspector = Inspector(bench)
    inspector.show(bench.layer)
    var feed = await inspector.live()
    #expect(try await feed.frame().rows.count == 1)
    var other: ModelLayer? = ModelLayer(
      baseURL: Bench.url, transport: bench.transport, scope: Scope("ann"), configuration: .init())
    weak let gone = other
    if let other { inspector.show(other) }
    _ = try await other?.reactor(Note.self).fetch("mine")
    let both = try await feed.frame(after: bench.clock)
    #expect(both.isFirst && both.rows.count == 2)
    other = nil
    #expect(gone == nil)
    let one = try await feed.frame(after: bench.clock)
    #expect(one.isFirst && one.rows.count == 1)
    try await bench.waitUntilNothingWaits()
  }
}
