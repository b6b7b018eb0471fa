import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: the previous value while the next one loads", .timeLimit(.minutes(5)))
struct KeptValueTests {
  typealias Dependents = DependentStates<LoadStates<Note>, LoadStates<Note>, Note, Note>

  private func dependents(_ bench: Bench, keeping: Bool = true) -> Dependents {
    bench.notes.states(for: "me").dependentStates(keepsPreviousValue: keeping) { [notes = bench.notes] me in
      notes.states(for: Resource("notes/\(me.id)"))
    }
  }

  /// A reader that has seen the note of key 1, and a server that holds the note of key 2.
  private func switched(
    to answer: ScriptedTransport.Answer, keeping: Bool = true
  ) async throws -> (Bench, Dependents.Iterator, LoadState<Note>, Gate) {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json))
    bench.transport.answer("/v1/notes/2", with: answer.held(at: gate))
    try await bench.notes.save(Note(1, "me"), for: "me")
    var states = dependents(bench, keeping: keeping).makeAsyncIterator()
    let first = try #require(await states.first { $0.value != nil && $0.fetchStatus == .idle })
    #expect(!first.isPlaceholder && !first.isStale)
    try await bench.notes.save(Note(2, "me"), for: "me")
    try await bench.transport.waitForRequests(count: 2)
    return (bench, states, first, gate)
  }

  @Test func `the previous value stays, as a placeholder, until there is a new one`() async throws {
    var (bench, states, first, gate) = try await switched(to: .json(Note(2, "two").json))
    let kept = try #require(await states.next(isolation: nil))
    #expect(kept.value == first.value && kept.valueRevision == first.valueRevision)
    #expect(kept.isPlaceholder && kept.isStale && kept.fetchStatus == .fetching && kept.error == nil)
    #expect(kept.origin == first.origin && kept.fetchedAt == first.fetchedAt && kept.revision > first.revision)
    gate.open()
    let next = try #require(await states.first { !$0.isPlaceholder })
    #expect(next.value?.text == "two" && next.valueRevision > first.valueRevision && !next.isStale)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `the previous value is gone once there is an error`() async throws {
    var (bench, states, _, gate) = try await switched(to: .response(.serviceUnavailable))
    #expect(await states.next(isolation: nil)?.isPlaceholder == true)
    gate.open()
    let failed = try #require(await states.first { !$0.isPlaceholder })
    #expect(failed.value == nil && failed.error?.status == 503)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `the previous value does not come back after an error`() async throws {
    let outer = ScriptedStates<Int>()
    let inner = (1...2).map { ScriptedStates<String>("\($0)") }
    var states = outer.dependentStates(keepsPreviousValue: true) { inner[$0 - 1] }.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    try await inner[0].begun().wait()
    inner[0].send(.loaded("a", 1))
    #expect(await states.first { $0.value != nil }?.value == "a")
    outer.send(.loaded(2, 2))
    try await inner[1].begun().wait()
    inner[1].send(LoadState(error: .timedOut, revision: 1))
    #expect(await states.first { $0.error != nil }?.value == nil)
    inner[1].send(LoadState(fetchStatus: .fetching, revision: 2))
    let again = await states.first { $0.fetchStatus == .fetching }
    #expect(again?.value == nil && again?.isPlaceholder == false)
  }

  @Test func `without the parameter nothing is kept`() async throws {
    var (_, states, _, gate) = try await switched(to: .json(Note(2, "two").json), keeping: false)
    let loading = try #require(await states.next(isolation: nil))
    #expect(loading.value == nil && !loading.isPlaceholder)
    gate.open()
  }

  @Test func `a value that was removed is not kept, even once there is another key`() async throws {
    let (bench, gate) = (Bench(), Gate())
    bench.transport.answer("/v1/notes/2", with: .json(Note(2, "two").json).held(at: Gate()))
    bench.transport.answer("/v1/notes/3", with: .json(Note(3, "three").json).held(at: gate))
    try await bench.notes.save(Note(1, "me"), for: "me")
    try await bench.notes.save(Note(1, "secret"), for: "notes/1")
    var states = dependents(bench).makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "secret")
    try await bench.notes.save(Note(2, "me"), for: "me")
    #expect(await states.first { $0.isPlaceholder }?.value?.text == "secret")
    try await bench.layer.removeAll()
    #expect(await states.first { $0.value == nil }?.isRemoved == true)
    try await bench.notes.save(Note(3, "me"), for: "me")
    try await gate.waitForArrival()
    let loading = await states.first { $0.fetchStatus == .fetching }
    #expect(loading != nil && loading?.value == nil)
    gate.open()
    #expect(await states.first { $0.value != nil }?.value?.text == "three")
  }

  @Test func `the last value stays over several switches, until a sequence without states`() async throws {
    let outer = ScriptedStates<Int>()
    let inner = (1...3).map { ScriptedStates<String>("\($0)") }
    var states = outer.dependentStates(keepsPreviousValue: true) { inner[$0 - 1] }.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    try await inner[0].begun().wait()
    inner[0].send(.loaded("a", 1))
    #expect(await states.first { $0.value != nil }?.value == "a")
    outer.send(.loaded(2, 2))
    try await inner[1].begun().wait()
    inner[1].send(LoadState(fetchStatus: .paused, revision: 1))
    let paused = await states.first { $0.fetchStatus == .paused }
    #expect(paused?.value == "a" && paused?.isPlaceholder == true)
    outer.send(.loaded(3, 3))
    try await inner[2].begun().wait()
    #expect(await states.next(isolation: nil)?.value == "a")
    inner[2].finish()
    let ended = await states.first { $0.value == nil }
    #expect(ended?.fetchStatus == .idle && ended?.isPlaceholder == false)
  }

  @Test func `of two levels that keep the previous value, the second continues meanwhile`() async throws {
    let (bench, gate) = (Bench(), Gate())
    let notes = bench.notes
    try await notes.save(Note(1, "me"), for: "me")
    try await notes.save(Note(10, "team"), for: "teams/1")
    try await notes.save(Note(10, "ten"), for: "boards/10")
    bench.transport.answer("/v1/teams/2", with: .json(Note(20, "team").json).held(at: gate))
    bench.transport.answer("/v1/boards/20", with: .json(Note(20, "twenty").json))
    var states = notes.states(for: "me")
      .dependentStates(keepsPreviousValue: true) { notes.states(for: Resource("teams/\($0.id)")) }
      .dependentStates(keepsPreviousValue: true) { notes.states(for: Resource("boards/\($0.id)")) }
      .makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "ten")
    try await notes.save(Note(2, "me"), for: "me")
    try await bench.transport.waitForRequests()
    try await notes.save(Note(10, "changed"), for: "boards/10")
    #expect(await states.next(isolation: nil)?.value?.text == "changed")
    gate.open()
    let next = await states.first { $0.value?.text != "changed" }
    #expect(next?.value?.text == "twenty")
  }
}
