import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// Requests of the reactor itself (reconnection, polling, becoming stale), together with another
/// change.
@Suite("Races of wakeups", .timeLimit(.minutes(5)))
struct WakeupRaceTests {
  private func counting(
    persistence: any Persistence = MemoryPersistence(), configure: (inout ReactorConfiguration) -> Void = { _ in }
  ) -> Bench {
    let tick = Tick()
    return Bench(
      persistence: persistence, transport: ScriptedTransport { _, _ in .json(Note(1, "\(tick.next())").json) },
      configure: configure)
  }

  /// The caller's request finds no connectivity before persistence has answered the stream.
  @Test(arguments: [true, false])
  func `a stream that waits for persistence is paused, and not failed, by a caller's request offline`(
    returnsBefore: Bool
  ) async throws {
    let disk = FaultyPersistence()
    let loading = disk.hold(.load)
    let bench = counting(persistence: disk)
    bench.reachability.set(false)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    try await loading.reached()
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.isNoConnectivity == true)
    // If connectivity returns before persistence has answered, no other event reports it.
    if returnsBefore { bench.reachability.set(true) }
    loading.open()
    if returnsBefore {
      #expect(await states?.first { $0.fetchStatus == .idle }?.value?.text == "1")
    } else {
      #expect(await states?.first { $0.fetchStatus != .fetching }?.fetchStatus == .paused)
    }
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `connectivity that returns while another caller asks is not lost on a stale stream`() async throws {
    let gate = Gate()
    let bench = Bench { $0.freshFor = .seconds(60) }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "never").json).held(at: gate),
      .json(Note(1, "two").json))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.clock.advance(by: .seconds(61))
    let caller = Task { try await bench.notes.fetchFromNetwork("note") }
    try await gate.waitForArrival()
    bench.reachability.set(false)
    bench.reachability.set(true)
    // The stream joins the request, so that it does not end with its caller.
    try await bench.log.wait(for: .joined)
    caller.cancel()
    #expect(await error { try await caller.value }?.isCancelled == true)
    #expect(bench.transport.requestCount == 2)
    gate.open()
    #expect(await states?.first { $0.fetchStatus == .idle && !$0.isStale }?.value?.text == "never")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .networkFirst, .staleWhileRevalidate, .cacheOnly])
  func `connectivity refetches a fresh value whose last request failed, except for callers that send no request`(
    policy: FetchPolicy
  ) async throws {
    let bench = counting { $0.freshFor = .seconds(60) }
    _ = try await bench.notes.fetch("note")
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
    var state = await states?.first { $0.fetchStatus == .idle }
    let known = bench.transport.requestCount
    bench.reachability.set(false)
    #expect(await error { try await bench.notes.fetchFromNetwork("note") }?.isNoConnectivity == true)
    state = await states?.first { $0.error != nil }
    #expect(state?.value?.text == "\(known)" && state?.isStale == false)
    bench.reachability.set(true)
    if policy == .cacheOnly {
      states = nil
      try await bench.waitUntilNothingWaits()
      #expect(bench.transport.requestCount == known)
      return
    }
    state = await states?.first { $0.error == nil }
    #expect(state?.value?.text == "\(known + 1)")
    // Without a failure, the state stays as it is.
    bench.reachability.set(false)
    bench.reachability.set(true)
    states = nil
    try await bench.waitUntilNothingWaits()
    #expect(bench.transport.requestCount == known + 1)
  }

  @Test func `a revalidation survives the caller that triggered it`() async throws {
    let gate = Gate()
    let bench = Bench {
      $0.freshFor = .seconds(60)
      $0.revalidatesWhenStale = true
    }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.clock.advance(by: .seconds(59))
    let caller = Task { try await bench.notes.fetchFromNetwork("note") }
    try await gate.waitForArrival()
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(2))
    try await bench.log.wait(for: .joined)
    caller.cancel()
    _ = await caller.result
    gate.open()
    #expect(await states?.first { $0.value?.text == "two" } != nil)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a fetch of a cached value starts no poll or reconnection of a removed one`()
    async throws
  {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    try await bench.layer.removeAll()
    #expect(await error { try await bench.notes.fetch("note", policy: .cacheOnly) }?.isNotCached == true)
    bench.clock.advance(by: .seconds(5))
    bench.reachability.set(false)
    bench.reachability.set(true)
    // Any request that this caused would have begun before these fetches end.
    for n in 0..<10 { _ = try await bench.notes.fetch(Resource("other\(n)")) }
    #expect(bench.transport.requests.filter { $0.path == "/v1/note" }.count == 1)
    #expect(bench.clock.sleeperCount == 0)
    // Somebody wants it again: from here on it is polled.
    _ = try await bench.notes.fetch("note")
    try await bench.clock.waitForSleepers()
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a reader of only the disk does not delay a poll`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .response(.serviceUnavailable))
    var states: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    for _ in 0..<2 {
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: .seconds(2))
      #expect(await error { try await bench.notes.fetch("note", policy: .cacheOnly) }?.isNotCached == true)
    }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(1))
    try await bench.transport.waitForRequests(count: 2)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a stream that comes and goes within an interval does not put the poll off`() async throws {
    let bench = counting { $0.freshFor = .never }
    var states: LoadStates<Note>.Iterator?
    for _ in 0..<2 {
      states = bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
      _ = await states?.first { $0.fetchStatus == .idle }
      try await bench.clock.waitForSleepers()
      #expect(bench.clock.nextDeadline == TestClock.Instant(elapsed: .seconds(5)))
      states = nil
      try await bench.clock.waitUntilNobodySleeps()
      bench.clock.advance(by: .seconds(2))
    }
    bench.clock.advance(by: .seconds(96))
    // Long after the last attempt it counts from the subscription.
    states = bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    try await bench.clock.waitForSleepers()
    #expect(bench.clock.nextDeadline == TestClock.Instant(elapsed: .seconds(105)))
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `of two polling streams, one keeps polling when the other leaves during a request`() async throws {
    let gate = Gate()
    let tick = Tick()
    let bench = Bench(
      transport: ScriptedTransport { _, _ in
        let n = tick.next()
        if n == 2 { try await gate.wait() }
        return .json(Note(1, "\(n)").json)
      })
    var first: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    var second: LoadStates<Note>.Iterator? =
      bench.notes.states(for: "note", polling: .seconds(5)).makeAsyncIterator()
    _ = await first?.first { $0.fetchStatus == .idle }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(5))
    try await gate.waitForArrival()
    first = nil
    gate.open()
    #expect(await second?.first { $0.value?.text == "2" } != nil)
    #expect(bench.transport.requestCount == 2)
    second = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a paused stream shows what another type stores`() async throws {
    struct Title: Codable, Sendable { let text: String }
    let gate = Gate()
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let titles = bench.layer.reactor(Title.self)
    let caller = Task { try await titles.fetch("note") }
    try await gate.waitForArrival()
    bench.reachability.set(false)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .paused }
    gate.open()
    #expect(try await caller.value.text == "one")
    #expect(await states?.first { $0.value != nil }?.value?.text == "one")
    #expect(bench.transport.requestCount == 1)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a stream whose request fails shows what another type stored before`() async throws {
    struct Title: Codable, Sendable { let text: String }
    let (first, second) = (Gate(), Gate())
    let bench = Bench()
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json).held(at: first),
      .response(.serviceUnavailable).held(at: second))
    let titles = bench.layer.reactor(Title.self)
    let caller = Task { try await titles.fetch("note") }
    try await first.waitForArrival()
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    try await second.waitForArrival()
    first.open()
    #expect(try await caller.value.text == "one")
    second.open()
    #expect(await states?.first { $0.value != nil }?.value?.text == "one")
    #expect(bench.transport.requestCount == 2)
    states = nil
    try await bench.waitUntilNothingWaits()
  }
}

/// Connectivity that comes back while a stream is about to wait for it.
@Suite("Races of connectivity", .timeLimit(.minutes(5)))
struct ConnectivityRaceTests {
  /// Unreachable when it is read first, and reachable from then on.
  private final class Flicker: Reachability {
    private let isAsked = Atomic<Bool>(false)
    var isReachable: Bool { isAsked.exchange(true, ordering: .relaxed) }
    var changes: AsyncStream<Bool> { Backend.FixedReachability.always.changes }
  }

  @Test func `connectivity that returns between the check and the pause is noticed`() async throws {
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    let layer = ModelLayer(baseURL: Bench.url, transport: transport, reachability: Flicker())
    var states = layer.reactor(Note.self).states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
  }

  /// Its changes are first told when it is back.
  private final class Late: Reachability {
    private let isOnline = Atomic<Bool>(false)
    private let told = AsyncStream.makeStream(of: Bool.self)
    var isReachable: Bool { isOnline.load(ordering: .relaxed) }
    var changes: AsyncStream<Bool> { told.stream }
    func comeBack() {
      isOnline.store(true, ordering: .relaxed)
      told.continuation.yield(true)
    }
  }

  @Test func `connectivity that returns between the pause and the subscription is noticed`() async throws {
    let reachability = Late()
    let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
    let layer = ModelLayer(baseURL: Bench.url, transport: transport, reachability: reachability)
    var states = layer.reactor(Note.self).states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .paused } != nil)
    reachability.comeBack()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
  }
}
