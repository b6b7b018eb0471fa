import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: keeping the last good value")
struct IgnoringLoadingAndFailuresTests {
  typealias State = LoadState<String>

  static let loading = State(fetchStatus: .fetching)
  static let failed = State(error: .timedOut)
  static let loaded = State.loaded("a", 1)

  /// The first state of each is followed by the second; whether that passes.
  static let rows: [(String, State, State, Bool)] = [
    ("loading, then failed", loading, failed, true),
    ("failed, then loading", failed, loading, true),
    ("failed, then loaded", failed, loaded, true),
    ("loaded, then loaded", loaded, .loaded("b", 2), true),
    ("loaded, then loading", loaded, loading, false),
    ("loaded, then failed", loaded, failed, false),
    ("loaded, then idle with the same value", loaded, State(value: "a", revision: 2, valueRevision: 1), true),
    (
      "loaded, then loading with the same value", loaded,
      State(value: "a", fetchStatus: .fetching, revision: 2, valueRevision: 1), false
    ),
    (
      "loaded, then waiting with the same value", loaded,
      State(value: "a", fetchStatus: .paused, revision: 2, valueRevision: 1), false
    ),
    (
      "loaded, then failed with the same value", loaded,
      State(value: "a", error: .timedOut, revision: 2, valueRevision: 1), false
    ),
    (
      "loaded, then loading with another value", loaded,
      State(value: "b", fetchStatus: .fetching, revision: 2, valueRevision: 2), true
    ),
    (
      "loaded, then failed with another value", loaded,
      State(value: "b", error: .timedOut, revision: 2, valueRevision: 2), true
    ),
    ("loaded, then removed", loaded, State(), true),
    (
      "loaded, then loading after a removal that was missed", loaded,
      State(fetchStatus: .fetching, revision: 3, valueRevision: 2), true
    ),
  ]

  @Test(arguments: rows)
  func `what passes after a state`(name: String, first: State, second: State, passes: Bool) async throws {
    let kept = try await elements([first, second]).ignoringLoadingAndFailuresAfterSuccess().collect()
    #expect(kept.count == (passes ? 2 : 1), "\(name)")
  }

  @Test func `after a removal, loading and failures pass again`() async throws {
    let states = [Self.loaded, Self.failed, State(), Self.loading, Self.failed, Self.loaded, Self.failed]
    let kept = try await elements(states).ignoringLoadingAndFailuresAfterSuccess().collect()
    #expect(kept.map(\.value) == ["a", nil, nil, nil, "a"])
  }

  @Test func `the failure of the sequence itself is passed on`() async throws {
    let states = elements([Self.loaded, Self.failed], thenThrow: Broken()).ignoringLoadingAndFailuresAfterSuccess()
    await #expect(throws: Broken.self) { try await states.collect() }
  }

  @Test func `a screen over a reactor sees each value once and no failure`() async throws {
    let bench = Bench { $0.freshFor = .zero }
    bench.transport.answer(
      "/v1/note", with: .json(Note(1, "one").json), .response(.serviceUnavailable), .json(Note(1, "two").json))
    var states = bench.notes.states(for: "note").ignoringLoadingAndFailuresAfterSuccess().makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
    let failure = await error { try await bench.notes.fetchFromNetwork("note") }
    #expect(failure?.status == 503)
    bench.clock.advance(by: .seconds(1))
    _ = try await bench.notes.fetchFromNetwork("note")
    let next = await states.next(isolation: nil)
    #expect(next?.value?.text == "two" && next?.error == nil)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `two local writes at the same instant are two values`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "theirs").json).held(at: Gate()))
    try await bench.notes.save(Note(1, "one"), for: "note")
    var states = bench.notes.states(for: "note").ignoringLoadingAndFailuresAfterSuccess().makeAsyncIterator()
    let first = await states.next(isolation: nil)
    try await bench.notes.save(Note(1, "two"), for: "note")
    // It loads again before the reader has seen the second.
    await bench.notes.invalidate("note")
    let second = await states.next(isolation: nil)
    #expect(first?.value?.text == "one" && second?.value?.text == "two")
    #expect(first?.fetchedAt == second?.fetchedAt && first?.origin == .local && second?.origin == .local)
    #expect(second?.fetchStatus == .fetching)
  }
}
