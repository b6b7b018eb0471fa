import Foundation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("Many subscribers, and bad ones", .timeLimit(.minutes(5)))
struct ManySubscribersTests {
  @Test func `ten thousand subscribers of one key make one request, and each sees its answer`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate), .json(Note(1, "two").json))
    var streams = (0..<10_000).map { _ in bench.notes.states(for: "note").makeAsyncIterator() }
    try await gate.waitForArrival()
    gate.open()
    for index in streams.indices {
      #expect(await streams[index].first { $0.fetchStatus == .idle }?.value?.text == "one")
    }
    await bench.notes.invalidate("note")
    for index in streams.indices { #expect(await streams[index].first { $0.value?.text == "two" } != nil) }
    #expect(bench.transport.requestCount == 2)
    streams = []
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a subscriber that joins or leaves makes no state for the others`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    var first: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    let idle = await first?.first { $0.fetchStatus == .idle }
    for _ in 0..<100 {
      var other = bench.notes.states(for: "note").makeAsyncIterator()
      #expect(await other.next()?.revision == idle?.revision)
    }
    try await bench.notes.save(Note(2, "mine"), for: "note")
    let next = await first?.next()
    #expect(next?.revision == (idle?.revision ?? 0) + 1)
    first = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a subscriber that never reads holds one state, however much happens`() async throws {
    struct Weak { weak var payload: Payload? }
    let bench = Bench()
    let payloads = bench.layer.reactor(Payload.self)
    var silent: LoadStates<Payload>.Iterator? =
      payloads.states(for: "payload", policy: .cacheOnly).makeAsyncIterator()
    var saved: [Weak] = []
    for _ in 0..<1_000 {
      let payload = Payload()
      saved.append(Weak(payload: payload))
      try await payloads.save(payload, for: "payload")
    }
    #expect(saved.count { $0.payload != nil } == 1)
    let latest = try #require(saved.last?.payload)
    #expect(await silent?.next()?.value === latest)
    silent = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `after the last subscriber nothing is left: neither the reactor nor its model`() async throws {
    weak var reactor: Reactor<Payload>?
    weak var model: Payload?
    let reachability = ScriptedReachability(true)
    do {
      let layer = ModelLayer(
        baseURL: Bench.url, transport: ScriptedTransport { _, _ in throw Broken() }, reachability: reachability)
      let made = layer.reactor(Payload.self)
      let payload = Payload()
      reactor = made
      model = payload
      try await made.save(payload, for: "payload")
      var states = made.states(for: "payload", policy: .cacheOnly).makeAsyncIterator()
      #expect(await states.next()?.value === payload)
    }
    try await reachability.waitUntilNobodyListens()
    #expect(reactor == nil && model == nil)
  }
}

/// A model whose release can be seen.
private final class Payload: Codable, Sendable {}
