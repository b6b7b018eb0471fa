import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@Suite("Revalidation of what becomes stale", .timeLimit(.minutes(5)))
struct RevalidationWhenStaleTests {
  private func counting(_ revalidates: Bool = true, freshFor: Duration = .seconds(60)) -> Bench {
    let tick = Tick()
    return Bench(transport: ScriptedTransport { _, _ in .json(Note(1, "\(tick.next())").json) }) {
      $0.freshFor = freshFor
      $0.revalidatesWhenStale = revalidates
    }
  }

  @Test func `by default nothing happens when a value becomes stale`() async throws {
    let bench = counting(false)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    #expect(bench.clock.sleeperCount == 0)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a value that becomes stale is requested once for all streams, and shown until then`() async throws {
    let bench = counting()
    var streams = (0..<10).map { _ in bench.notes.states(for: "note").makeAsyncIterator() }
    for index in streams.indices { _ = await streams[index].first { $0.fetchStatus == .idle && $0.value != nil } }
    try await bench.clock.waitForSleepers()
    #expect(bench.clock.sleeperCount == 1)
    bench.clock.advance(by: .seconds(59))
    #expect(bench.transport.requestCount == 1)
    bench.clock.advance(by: .seconds(2))
    let asking = await streams[0].first { $0.fetchStatus == .fetching }
    #expect(asking == nil || asking?.isStale == true)
    for index in streams.indices { #expect(await streams[index].first { $0.value?.text == "2" } != nil) }
    #expect(bench.transport.requestCount == 2)
    streams = []
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a failure is not tried again until something happens`() async throws {
    let bench = Bench {
      $0.freshFor = .seconds(60)
      $0.revalidatesWhenStale = true
    }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .response(.serviceUnavailable), .json(Note(1, "two").json))
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.clock.advance(by: .seconds(61))
    #expect(await states?.first { $0.fetchStatus == .idle }?.error?.status == 503)
    #expect(bench.clock.sleeperCount == 0)
    await bench.notes.invalidate("note")
    #expect(await states?.first { $0.error == nil && $0.fetchStatus == .idle }?.value?.text == "two")
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: [Duration.zero, .never])
  func `a value that is never fresh, or never stale, is not requested again`(freshFor: Duration) async throws {
    let bench = counting(freshFor: freshFor)
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    #expect(bench.clock.sleeperCount == 0 && bench.transport.requestCount == 1)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a value that only cacheOnly watches is left to become stale`() async throws {
    let bench = counting()
    _ = try await bench.notes.fetch("note")
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note", policy: .cacheOnly).makeAsyncIterator()
    #expect(await states?.next()?.value != nil)
    #expect(bench.clock.sleeperCount == 0)
    states = nil
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a wall clock that was set back makes the value stale at the next look, and hangs nothing`() async throws {
    let bench = counting()
    var states: LoadStates<Note>.Iterator? = bench.notes.states(for: "note").makeAsyncIterator()
    _ = await states?.first { $0.fetchStatus == .idle }
    bench.clock.setWallClock(back: .seconds(3_600))
    bench.clock.advance(by: .seconds(61))
    #expect(await states?.first { $0.fetchStatus == .idle && $0.value?.text == "2" } != nil)
    states = nil
    try await bench.waitUntilNothingWaits()
  }
}
