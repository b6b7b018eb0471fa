import Foundation
import Observation
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: a placeholder for a first load", .timeLimit(.minutes(5)))
struct PlaceholderTests {
  typealias State = LoadState<Int>

  private func states(_ states: [State]) async throws -> [State] {
    try await elements(states).placeholder(0).collect()
  }

  @Test func `a placeholder replaces a value that is loading, and is marked`() async throws {
    let shown = try await states([
      State(), State(fetchStatus: .fetching, revision: 1), State(fetchStatus: .paused, revision: 2), .loaded(7, 3),
    ])
    #expect(shown.map(\.value) == [0, 0, 0, 7])
    #expect(shown.map(\.isPlaceholder) == [true, true, true, false])
    #expect(shown.map(\.fetchStatus) == [.idle, .fetching, .paused, .idle])
    #expect(shown.map(\.revision) == [0, 1, 2, 3])
    #expect(shown.allSatisfy { $0.origin == nil && $0.fetchedAt == nil && !$0.isStale })
    #expect(Set(shown.prefix(3).map(\.valueRevision)).count == 1 && shown[0].valueRevision > 0)
  }

  @Test func `a failure and a removal show none`() async throws {
    var removed = State(revision: 2)
    removed.isRemoved = true
    let shown = try await states([State(error: .timedOut), removed, State(value: 7, error: .timedOut)])
    #expect(shown.map(\.value) == [nil, nil, 7])
    #expect(shown.allSatisfy { !$0.isPlaceholder })
  }

  @Test func `a placeholder is never stored, and never the reactor's value`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    var states = bench.notes.states(for: "note").placeholder(Note(0, "…")).makeAsyncIterator()
    #expect(await states.next(isolation: nil)?.value?.text == "…")
    try await bench.transport.waitForRequests()
    #expect(bench.notes.cached("note") == nil)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).count == 0)
    gate.open()
    let loaded = await states.first { !$0.isPlaceholder }
    #expect(loaded?.value?.text == "one" && loaded?.origin == .network)
  }

  @Test func `nothing that depends on a value is fetched for it`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<String>())
    let asked = Shared<[Int]>([])
    var states = outer.placeholder(0).dependentStates { number in
      asked.change { $0.append(number) }
      return inner
    }.makeAsyncIterator()
    outer.send(State(fetchStatus: .fetching))
    let loading = await states.first { $0.fetchStatus == .fetching }
    #expect(loading?.value == nil && asked.value == [])
    outer.send(.loaded(1, 1))
    try await inner.begun().wait()
    #expect(asked.value == [1])
  }

  @Test func `values are derived from a placeholder, and none of them stays`() async throws {
    let base: [State] = [
      State(fetchStatus: .fetching), State(error: .timedOut, revision: 1), State(fetchStatus: .fetching, revision: 2),
      .loaded(1, 3), .loaded(2, 4),
    ]
    let derived = try await elements(base).placeholder(0)
      .mapValues { $0.isMultiple(of: 2) ? "\($0)" : nil }.collect()
    #expect(derived.map(\.value) == ["0", nil, "0", nil, "2"])
    #expect(derived.map(\.isPlaceholder) == [true, false, true, false, false])
  }

  @Test func `a placeholder is no first success, so a failure of the first load is shown`() async throws {
    let base: [State] = [
      State(fetchStatus: .fetching), State(error: .timedOut, revision: 1), .loaded(1, 2),
      State(value: 1, error: .timedOut, revision: 3, valueRevision: 2),
    ]
    let shown = try await elements(base).placeholder(0).ignoringLoadingAndFailuresAfterSuccess().collect()
    #expect(shown.map(\.value) == [0, nil, 1])
  }

  @MainActor private static func observe(_ body: @escaping @MainActor @Sendable () -> Void) {
    withObservationTracking(body) { Task { @MainActor in observe(body) } }
  }

  @MainActor @Test func `a live resource shows it, and then the value`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
    let (shown, loaded) = (Latch(), Latch())
    let live = LiveResource(bench.notes.states(for: "note").placeholder(Note(0, "…")))
    Self.observe {
      if live.value?.text == "…", live.state.isPlaceholder { shown.open() }
      if live.value?.text == "one", !live.state.isPlaceholder { loaded.open() }
    }
    try await shown.wait()
    gate.open()
    try await loaded.wait()
  }
}
