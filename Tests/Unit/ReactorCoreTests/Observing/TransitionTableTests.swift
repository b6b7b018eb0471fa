import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// The tables of `StatesOfAResource.md` are this suite's input, so that they say what is.
@Suite("Every transition of a stream's states", .timeLimit(.minutes(5)))
struct TransitionTableTests {
  private static let tables = (try? Repository.markdown(path).tables) ?? []
  private static let path = "Sources/ReactorCore/ReactorCore.docc/StatesOfAResource.md"

  @Test func `the table has every combination of value, error and status`() throws {
    let table = try #require(Self.tables.last)
    #expect(Set(table.rows.map { $0[0] }).count == 3 * 2 * 3)
    #expect(table.rows.count == 3 * 2 * 3)
    #expect(table.rows.allSatisfy { $0.count == table.heading.count })
    #expect(table.rows.allSatisfy { ShownState($0[0]) != nil })
  }

  @Test(arguments: tables.last?.rows ?? [])
  func `each cell of a row is what happens`(row: [String]) async throws {
    let heading = try #require(Self.tables.last).heading
    let from = try #require(ShownState(row[0]))
    for (event, cell) in zip(heading, row).dropFirst() where !cell.isEmpty {
      try await expect(cell, after: event, from)
      // Any kind of failure has the same result.
      guard event == "failed" else { continue }
      try await expect(cell, after: event, from, failure: .failure(CancellationError()))
    }
  }

  private func expect(
    _ cell: String, after event: String, _ from: ShownState,
    failure: ScriptedTransport.Answer = .response(.serviceUnavailable)
  ) async throws {
    let probe = TransitionBench(failure: failure)
    try await probe.reach(from)
    try await probe.happen(event, in: from)
    if cell == "=" {
      #expect(probe.showsNothing, "\(from), \(event)")
    } else {
      let isSeen = await probe.see(cell)
      #expect(isSeen, "\(from), \(event)")
    }
    probe.close()
    try await probe.bench.waitUntilNothingWaits()
  }

  @Test(arguments: tables.first?.rows ?? [])
  func `each policy's first state equals its row`(row: [String]) async throws {
    for (value, cell) in zip([ShownState.Value.none, .fresh, .stale], row.dropFirst()) {
      let policy = try #require(Self.policies[row[0]])
      let gate = Gate()
      let bench = Bench { $0.freshFor = .seconds(60) }
      bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json).held(at: gate))
      if value != .none { _ = try await bench.notes.fetch("note") }
      if value == .stale { bench.clock.advance(by: .seconds(61)) }
      var states = bench.notes.states(for: "note", policy: policy).makeAsyncIterator()
      let first = try #require(await states.next())
      #expect("\(ShownState(first))" == cell, "\(row[0]), \(value)")
      gate.open()
    }
  }

  private static let policies: [String: FetchPolicy] = [
    "cacheFirst": .cacheFirst, "networkOnly": .networkOnly, "networkFirst": .networkFirst, "cacheOnly": .cacheOnly,
    "staleWhileRevalidate": .staleWhileRevalidate,
  ]
}
