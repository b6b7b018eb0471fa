import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A flight that backs off, and what happens to its key meanwhile.
@Suite("Races of retries", .timeLimit(.minutes(5)))
struct RetryRaceTests {
  private let busy = ScriptedTransport.Answer.response(.serviceUnavailable, fields: [.retryAfter: "5"])

  private func bench(_ configure: (inout ReactorConfiguration) -> Void = { _ in }) -> Bench {
    Bench {
      $0.retry = RetryPolicy()
      configure(&$0)
    }
  }

  @Test func `a flight that backs off is one flight, which others join`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy, .json(Note(1, "one").json))
    let first = Task { try await bench.notes.fetch("note").text }
    try await bench.clock.waitForSleepers()
    let second = Task { try await bench.notes.fetchFromNetwork("note").text }
    try await bench.log.wait(for: .joined)
    #expect(bench.transport.requestCount == 1)
    bench.clock.advance(by: .seconds(5))
    #expect(try await first.value == "one")
    #expect(try await second.value == "one")
    #expect(bench.transport.requestCount == 2)
    #expect(
      bench.log.kinds.count { if case .retry(attempt: 2, after: .seconds(5), _) = $0 { true } else { false } } == 1)
    #expect(bench.log.count(.request) == 2)
    #expect(bench.log.kinds.count { if case .response(status: 503, _, _) = $0 { true } else { false } } == 1)
    #expect(bench.log.count(.failed) == 0)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `the last caller that leaves while it backs off ends it`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy)
    let first = Task { await error { try await bench.notes.fetch("note") } }
    try await bench.clock.waitForSleepers()
    let second = Task { await error { try await bench.notes.fetch("note") } }
    try await bench.log.wait(for: .joined)
    first.cancel()
    #expect(await first.value?.isCancelled == true)
    #expect(bench.clock.sleeperCount == 1)
    second.cancel()
    #expect(await second.value?.isCancelled == true)
    try await bench.waitUntilNothingWaits()
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a removal while it backs off ends it, and nothing is asked or stored`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy, .json(Note(1, "late").json))
    let caller = Task { await error { try await bench.notes.fetch("note") } }
    try await bench.clock.waitForSleepers()
    try await bench.notes.remove("note")
    #expect(await caller.value?.isCancelled == true)
    try await bench.waitUntilNothingWaits()
    #expect(bench.transport.requestCount == 1)
    #expect(bench.notes.cached("note") == nil)
  }

  @Test(arguments: [true, false])
  func `a sign-out ends what backs off, and what waits for connectivity`(isOffline: Bool) async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy, .json(Note(1, "late").json))
    let caller = Task { await error { try await bench.notes.fetch("note") } }
    try await bench.clock.waitForSleepers()
    if isOffline {
      bench.reachability.set(false)
      bench.clock.advance(by: .seconds(5))
      try await bench.log.wait(for: .paused)
    }
    try await bench.layer.removeAll()
    #expect(await caller.value?.isCancelled == true)
    bench.reachability.set(true)
    try await bench.waitUntilNothingWaits()
    #expect(bench.transport.requestCount == 1)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }

  @Test func `offline while it backs off, it continues when connectivity is back`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy, .json(Note(1, "one").json))
    let caller = Task { try await bench.notes.fetch("note").text }
    try await bench.clock.waitForSleepers()
    bench.reachability.set(false)
    bench.clock.advance(by: .seconds(5))
    try await bench.log.wait(for: .paused)
    #expect(bench.transport.requestCount == 1)
    bench.reachability.set(true)
    #expect(try await caller.value == "one")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `offline for too long, it fails with what failed last`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: .failure(URLError(.networkConnectionLost)))
    let caller = Task { await error { try await bench.notes.fetch("note") } }
    try await bench.clock.waitForSleepers()
    bench.reachability.set(false)
    bench.clock.advance(by: .milliseconds(500))
    try await bench.log.wait(for: .paused)
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(30))
    guard case .network(let cause) = await caller.value else { return #expect(Bool(false)) }
    #expect((cause as? URLError)?.code == .networkConnectionLost)
    #expect(bench.transport.requestCount == 1)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a local write while it backs off stays, whatever the retry brings`() async throws {
    let bench = bench()
    bench.transport.answer("/v1/note", with: busy, .json(Note(1, "old").json), .json(Note(1, "new").json))
    let caller = Task { try await bench.notes.fetch("note").text }
    try await bench.clock.waitForSleepers()
    try await bench.notes.save(Note(1, "mine"), for: "note")
    #expect(bench.notes.cached("note")?.text == "mine")
    bench.clock.advance(by: .seconds(5))
    _ = try await caller.value
    #expect(bench.notes.cached("note")?.text != "old")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a stale fallback is used only after every attempt has failed`() async throws {
    let bench = bench { $0.staleIfError = .seconds(3_600) }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), busy)
    _ = try await bench.notes.fetch("note")
    bench.clock.advance(by: .seconds(301))
    let caller = Task { try await bench.notes.fetch("note").text }
    for _ in 1...2 {
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: .seconds(5))
    }
    #expect(try await caller.value == "one")
    #expect(bench.transport.requestCount == 4)
    try await bench.waitUntilNothingWaits()
  }

  @Test(arguments: [true, nil])
  func `a POST is sent again where the resource is read-only, or has an idempotency key`(isReadOnly: Bool?) async throws
  {
    let bench = bench()
    bench.transport.answer("/v1/search", with: busy, .json(Note(1, "one").json))
    var search = Resource("search", method: .post, body: Data("{}".utf8))
    #expect(await error { try await bench.notes.send(search) }?.status == 503)
    bench.transport.answer("/v1/search", with: busy, .json(Note(1, "one").json))
    search.isReadOnly = isReadOnly
    if isReadOnly == nil { search.idempotencyKey = "4711" }
    let caller = Task { [search] in
      isReadOnly == true ? try await bench.notes.fetch(search).text : try await bench.notes.send(search).text
    }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(5))
    #expect(try await caller.value == "one")
    #expect(bench.transport.requestCount == 3)
    #expect(bench.transport.requests.allSatisfy { $0.body == Data("{}".utf8) })
    try await bench.waitUntilNothingWaits()
  }

  /// The response's age counts from its own request, not from the failed request (RFC 9111 §4.2.3).
  @Test func `the time that was lost by backing off does not make the answer older`() async throws {
    let bench = bench { $0.retry.longestRetryAfter = .seconds(3_600) }
    bench.transport.answer(
      "/v1/note", with: .response(.serviceUnavailable, fields: [.retryAfter: "600"]),
      .json(Note(1, "one").json, fields: [.cacheControl: "max-age=60", .age: "0"]))
    let caller = Task { try await bench.notes.fetch("note").text }
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(600))
    #expect(try await caller.value == "one")
    #expect(try await bench.notes.fetch("note").text == "one")
    #expect(bench.transport.requestCount == 2)
    try await bench.waitUntilNothingWaits()
  }
}
