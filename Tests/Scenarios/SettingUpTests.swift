import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The ways to make a reactor, and to clear one.
@Suite("Setting up", .timeLimit(.minutes(5))) struct SettingUpTests {
  private struct Post: Codable, Sendable, Equatable {
    var publishedAt: Date
  }

  @Test func `a layer's decoder and encoder are those of all its reactors`() async throws {
    let bench = Bench { configuration in
      configuration.decoder.dateDecodingStrategy = .iso8601
      configuration.encoder.dateEncodingStrategy = .iso8601
    }
    let date = try Date("2026-11-21T16:15:00Z", strategy: .iso8601)
    bench.transport.answer("/v1/post", with: .json(#"{"publishedAt":"2026-11-21T16:15:00Z"}"#))
    bench.transport.answer("/v1/posts", with: .json(#"[{"publishedAt":"2026-11-21T16:15:00Z"},{}]"#))
    #expect(try await bench.layer.reactor(Post.self).fetch("post") == Post(publishedAt: date))
    #expect(try await bench.layer.reactor([Post].self).fetch("posts") == [Post(publishedAt: date)])
    try await bench.layer.reactor(Post.self).save(Post(publishedAt: date), for: "draft")
    let persistence = try #require(bench.persistence)
    let key = try #require(
      try await persistence.entries(in: nil, url: nil).first { $0.key.url.hasSuffix("draft") }?.key)
    #expect(try await persistence.load(key)?.body == Data(#"{"publishedAt":"2026-11-21T16:15:00Z"}"#.utf8))
  }

  @Test func `a reactor without a layer is cleared as a whole`() async throws {
    let (transport, disk) = (ScriptedTransport(), MemoryPersistence())
    transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = Reactor<Note>(
      baseURL: Bench.url, transport: transport, persistence: disk, reachability: .always)
    _ = try await notes.fetch("note")
    #expect(try await disk.entries(in: nil, url: nil).count == 1)
    try await notes.removeAll()
    #expect(notes.cached("note") == nil)
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `a reactor of closures forgets its models, and a store of them its records`() async throws {
    let tick = Tick()
    let models = Reactor(flow: ReactorFlow { _ in Note(tick.next(), "one") })
    #expect(try await models.fetch("note").id == 1)
    try await models.removeAll()
    #expect(try await models.fetch("note").id == 2)
    let disk = MemoryPersistence()
    let stored = Reactor(flow: .persisted(in: disk) { _ in Note(1, "one") })
    _ = try await stored.fetch("note")
    #expect(try await disk.entries(in: nil, url: nil).count == 1)
    try await stored.removeAll()
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `a reactor says that there is no connectivity by the reachability that it was given`() async throws {
    let transport = ScriptedTransport()
    let notes = Reactor<Note>(baseURL: Bench.url, transport: transport, reachability: .never)
    #expect(await error { try await notes.fetch("note") }?.isNoConnectivity == true)
    #expect(transport.requests.isEmpty)
  }

  @Test func `a flow of closures asks nothing without connectivity, and a stream of it waits for that`() async throws {
    let reachability = ScriptedReachability(false)
    let tick = Tick()
    let notes = Reactor(flow: ReactorFlow(reachability: reachability) { _ in Note(tick.next(), "one") })
    #expect(await error { try await notes.fetch("note") }?.isNoConnectivity == true)
    var states: Optional = notes.states(for: "note").makeAsyncIterator()
    while let state = await states?.next(), state.fetchStatus != .paused {}
    reachability.set(true)
    while let state = await states?.next(), state.value == nil {}
    #expect(notes.cached("note")?.id == 1)
    states = nil
    try await reachability.waitUntilNobodyListens()
    let stored = Reactor(
      flow: .persisted(in: MemoryPersistence(), reachability: .never) { _ in Note(1, "a") })
    #expect(await error { try await stored.fetch("note") }?.isNoConnectivity == true)
  }
}
