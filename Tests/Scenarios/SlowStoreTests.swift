import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A persistence that hangs, or that takes longer than the budget.
@Suite("A persistence that does not answer", .timeLimit(.minutes(5)))
struct SlowStoreTests {
  private static let budget = Duration.seconds(5)

  private func bench(_ disk: FaultyPersistence, configure: (inout ReactorConfiguration) -> Void = { _ in }) -> Bench {
    let bench = Bench(persistence: disk) {
      $0.persistenceBudget = Self.budget
      configure(&$0)
    }
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, headers: [.eTag: "\"1\""]))
    return bench
  }

  /// Lets the budget pass, once somebody waits for it.
  private func passBudget(_ bench: Bench) async throws {
    try await bench.clock.waitForSleepers()
    bench.clock.advance(by: Self.budget)
  }

  @Test(arguments: [FetchPolicy.cacheFirst, .staleWhileRevalidate, .networkFirst, .networkOnly])
  func `a load that hangs counts as a miss after the budget`(policy: FetchPolicy) async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.load, endsWhenCancelled: false)
    let fetch = Task { try await bench.notes.fetch("note", policy: policy) }
    try await gate.reached()
    try await passBudget(bench)
    #expect(try await fetch.value.text == "one")
    let failures = bench.log.kinds.compactMap { if case .loadFailed(let error) = $0 { error.reason } else { nil } }
    #expect(failures.count == 1 && failures.first?.contains("5.0 seconds") == true)
    gate.open()
    try await bench.log.wait(for: .saved)
    try await bench.waitUntilNothingWaits()
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "one")
  }

  @Test func `cacheOnly finds nothing in a store that hangs`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.load)
    let fetch = Task { try await bench.notes.fetch("note", policy: .cacheOnly) }
    try await gate.reached()
    try await passBudget(bench)
    #expect(await error { try await fetch.value }?.isNotCached == true)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a save that hangs holds the answer for the budget, and is carried out later`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.save)
    let fetch = Task { try await bench.notes.fetch("note") }
    try await gate.reached()
    try await passBudget(bench)
    #expect(try await fetch.value.text == "one")
    #expect(bench.notes.cached("note")?.text == "one")
    #expect(bench.log.count(.saveIsLate) == 1 && bench.log.count(.saved) == 0)
    gate.open()
    try await bench.log.wait(for: .saved)
    #expect(try await bench.restarted().notes.fetch("note", policy: .cacheOnly).text == "one")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `while a key's store hangs, other fetches of it do not wait`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.save)
    let first = Task { try await bench.notes.fetch("note") }
    try await gate.reached()
    try await passBudget(bench)
    _ = try await first.value
    // Without a step of the clock.
    #expect(try await bench.notes.fetchFromNetwork("note").text == "one")
    bench.transport.answer("/v1/other", with: .json(Note(2, "two").json))
    #expect(try await bench.notes.fetch("other").text == "two")
    gate.open()
    try await bench.log.wait(for: .saved, count: 3)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a save that fails after the budget is an event`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.save)
    let fetch = Task { try await bench.notes.fetch("note") }
    try await gate.reached()
    try await passBudget(bench)
    _ = try await fetch.value
    disk.crash()
    try await bench.log.wait(for: .saveFailed)
    #expect(bench.notes.cached("note")?.text == "one")
    try await bench.waitUntilNothingWaits()
  }

  @Test func `a fetch that must be saved fails after the budget`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk) { $0.saving = .required }
    let gate = disk.hold(.save)
    let fetch = Task { try await bench.notes.fetch("note") }
    try await gate.reached()
    try await passBudget(bench)
    guard case .persistence? = await error({ try await fetch.value }) else {
      Issue.record("it is no error of the persistence")
      return
    }
    gate.open()
    try await bench.log.wait(for: .saved)
    try await bench.waitUntilNothingWaits()
  }

  @Test func `without a limit, a fetch waits`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk) { $0.persistenceBudget = .never }
    let gate = disk.hold(.load)
    let fetch = Task { try await bench.notes.fetch("note") }
    try await gate.reached()
    #expect(bench.clock.sleeperCount == 0)
    bench.clock.advance(by: .seconds(3600))
    #expect(bench.transport.requestCount == 0)
    gate.open()
    #expect(try await fetch.value.text == "one")
  }

  @Test func `a write waits for the disk, however long it takes`() async throws {
    let disk = FaultyPersistence()
    let bench = bench(disk)
    let gate = disk.hold(.save)
    let isSaved = Shared(false)
    let save = Task {
      try await bench.notes.save(Note(2, "mine"), for: "note")
      isSaved.change { $0 = true }
    }
    try await gate.reached()
    bench.clock.advance(by: .seconds(3600))
    #expect(!isSaved.value)
    gate.open()
    try await save.value
  }
}
