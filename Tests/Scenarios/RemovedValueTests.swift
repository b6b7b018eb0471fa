import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

/// After a removal a screen is told that there is nothing, and not that something is coming.
@Suite("A value that was removed", .timeLimit(.minutes(5)))
struct RemovedValueTests {
  private func isAbsent<Value>(_ state: LoadState<Value>?) -> Bool {
    guard let state, case .failed(.notCached) = state.phase else { return false }
    return state.isRemoved && state.value == nil && state.error == nil && state.fetchStatus == .idle
  }

  @Test(arguments: [true, false])
  func `a stream is not loading after a removal, and is when it is requested again`(removesAll: Bool) async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json), .json(Note(1, "two").json))
    var states = bench.notes.states(for: "note").makeAsyncIterator()
    #expect(await states.first { $0.fetchStatus == .idle }?.value?.text == "one")
    if removesAll { try await bench.layer.removeAll() } else { try await bench.notes.remove("note") }
    #expect(isAbsent(await states.next()))
    #expect(isAbsent(bench.notes.states(for: "note").current))
    let notes = bench.notes
    async let fetched = notes.fetch("note")
    let loading = try #require(await states.next())
    #expect(!loading.isRemoved)
    #expect(try await fetched.text == "two")
    try await bench.notes.remove("note")
    #expect(isAbsent(await states.first { $0.isRemoved }))
    try await bench.notes.save(Note(1, "mine"), for: "note")
    #expect(await states.next()?.isRemoved == false)
  }

  @Test func `values derived from it, or dependent on it, are removed with it`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    let notes = bench.notes
    var mapped = notes.states(for: "note").mapValues(\.text).makeAsyncIterator()
    var dependent = notes.states(for: "note").dependentStates { _ in notes.states(for: "note") }.makeAsyncIterator()
    #expect(await mapped.first { $0.fetchStatus == .idle }?.value == "one")
    #expect(await dependent.first { $0.fetchStatus == .idle }?.value?.text == "one")
    try await bench.layer.removeAll()
    #expect(isAbsent(await mapped.next()))
    #expect(isAbsent(await dependent.first { $0.value == nil && $0.fetchStatus == .idle }))
  }

  @Test func `a value that was never requested is loading`() {
    guard case .loading = Bench().notes.states(for: "note").current.phase else {
      Issue.record("there is nothing to have been removed")
      return
    }
  }

  /// It may have been carried out: only its caller can be told.
  @Test func `a request that changes something continues when all is removed, and is not stored`() async throws {
    let gate = Gate()
    let bench = Bench()
    bench.transport.answer("/v1/note", with: .json(Note(1, "made").json).held(at: gate))
    let notes = bench.notes
    let task = Task { try await notes.send(Resource("note", method: .post)).text }
    try await gate.waitForArrival()
    try await bench.layer.removeAll()
    gate.open()
    #expect(try await task.value == "made")
    #expect(bench.notes.cached("note") == nil)
    #expect(try await bench.persistence?.entries(in: nil, url: nil).isEmpty == true)
  }
}
