import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A server that is slow rather than down: ``ReactorConfiguration/staleAfter``.
@Suite("A slow server", .timeLimit(.minutes(5)))
struct StaleAfterTests {
  /// A note that is stale by now, and whose next request waits for `gate`.
  private func bench(
    _ gate: Gate, stored: Bool = true, _ configure: (inout ReactorConfiguration) -> Void = { _ in }
  ) async throws -> Bench {
    let bench = Bench {
      $0.freshFor = .seconds(60)
      $0.staleIfError = .seconds(3_600)
      $0.staleAfter = .seconds(2)
      configure(&$0)
    }
    if stored {
      bench.transport.answer("/v1/note", with: .json(Note(1, "old").json))
      _ = try await bench.notes.fetch("note")
      bench.clock.advance(by: .seconds(60))
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "new").json).held(at: gate))
    return bench
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .networkFirst])
  func `after two seconds the stale value is the answer, and the response is stored when it comes`(
    policy: FetchPolicy
  ) async throws {
    let gate = Gate()
    let bench = try await bench(gate)
    async let answer = bench.notes.fetch("note", policy: policy)
    try await bench.transport.waitForRequests(count: 2)
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .seconds(2))
    #expect(try await answer.text == "old")
    try await bench.log.wait(for: .servedStale)

    gate.open()
    try await bench.log.wait(for: .saved, count: 2)
    #expect(try await bench.notes.fetch("note", policy: .cacheOnly).text == "new")
    #expect(bench.transport.requestCount == 2)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a response within the time is the answer, and the timer ends`() async throws {
    let gate = Gate()
    let bench = try await bench(gate)
    async let answer = bench.notes.fetch("note")
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: .milliseconds(1_999))
    gate.open()
    #expect(try await answer.text == "new")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a record on disk is a stale fallback, too`() async throws {
    let gate = Gate()
    let first = try await bench(gate)
    let bench = first.restarted {
      ($0.freshFor, $0.staleIfError, $0.staleAfter) = (.seconds(60), .seconds(3_600), .zero)
    }
    #expect(try await bench.notes.fetch("note").text == "old")
    gate.open()
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a caller without a stale fallback waits for as long as the request takes`() async throws {
    for stored in [false, true] {
      let gate = Gate()
      let bench = try await bench(gate, stored: stored) { $0.staleIfError = .zero }
      async let answer = bench.notes.fetch("note")
      try await bench.transport.waitForRequests(count: stored ? 2 : 1)
      try await bench.clock.waitForSleepers()
      bench.clock.advance(by: .seconds(30))
      try await bench.clock.waitUntilNobodySleeps()
      gate.open()
      #expect(try await answer.text == "new")
      try await bench.waitUntilNothingWaits()
    }
  }

  @Test func `a caller that is cancelled while it waits leaves, and so does its timer`() async throws {
    let gate = Gate()
    let bench = try await bench(gate)
    let caller = Task { try await bench.notes.fetch("note") }
    try await bench.transport.waitForRequests(count: 2)
    try await bench.clock.waitForSleepers()
    caller.cancel()
    await #expect(throws: ReactorError.self) { try await caller.value }
    gate.open()
    try await bench.waitUntilNothingWaits()
  }
}
