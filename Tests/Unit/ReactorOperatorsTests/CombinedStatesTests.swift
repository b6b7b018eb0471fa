import Foundation
import Observation
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorOperators

extension ScriptedStates: CombinableStates {
  typealias Model = Value
  func refresh() async {}
}

@Suite("Operators: several resources as one state", .timeLimit(.minutes(5)))
struct CombinedStatesTests {
  private let numbers = ScriptedStates<Int>()
  private let texts = ScriptedStates<String>()

  @Test func `there is a value once all parts have one, typed as they are`() async {
    var states = combined(numbers, texts).makeAsyncIterator()
    numbers.send(LoadState(fetchStatus: .fetching), .loaded(1, 1))
    let waiting = await states.first { _ in numbers.count == 1 }
    #expect(waiting?.value == nil && waiting?.fetchStatus == .fetching)
    texts.send(.loaded("one", 2))
    let value: (Int, String)? = await states.first { $0.value != nil }?.value
    #expect(value?.0 == 1 && value?.1 == "one")
    texts.send(.loaded("two", 3))
    let next = await states.first { $0.value?.1 == "two" }
    #expect(next?.value?.0 == 1 && next?.fetchStatus == .idle)
  }

  @Test func `values are shown as they come`() async {
    var states = combinedAsTheyCome(numbers, texts).makeAsyncIterator()
    texts.send(.loaded("one", 1))
    let value: (Int?, String?)? = await states.first { $0.value != nil }?.value
    #expect(value?.0 == nil && value?.1 == "one")
    numbers.send(.loaded(1, 2))
    let all = await states.first { $0.value?.0 != nil }
    #expect(all?.value?.0 == 1 && all?.value?.1 == "one")
  }

  @Test func `a part that loses its value takes that of the whole, and removal is known`() async {
    var states = combined(numbers, texts).makeAsyncIterator()
    numbers.send(.loaded(1, 1))
    texts.send(.loaded("one", 2))
    let shown = await states.first { $0.value != nil }
    var removed = LoadState<String>(revision: 3, valueRevision: 3)
    removed.isRemoved = true
    texts.send(removed)
    let lost = await states.first { $0.value == nil }
    #expect(lost?.isRemoved == true && lost?.fetchStatus == .idle)
    #expect(lost?.valueRevision != shown?.valueRevision)
    guard case .failed(.notCached)? = lost?.phase else { return #expect(Bool(false), "it loads") }
    texts.send(.loaded("again", 4))
    #expect(await states.first { $0.value != nil }?.isRemoved == false)
  }

  @Test func `the reader gets the latest state alone, and then waits`() async {
    var states = combined(numbers, texts).makeAsyncIterator()
    numbers.send(.loaded(1, 1))
    texts.send(.loaded("one", 2))
    let first = await states.first { $0.value != nil }
    texts.send(LoadState(value: "one", fetchStatus: .fetching, revision: 3, valueRevision: 2))
    let fetching = await states.next(isolation: nil)
    #expect(fetching?.fetchStatus == .fetching && fetching?.valueRevision == first?.valueRevision)
    #expect(fetching?.revision == first.map { $0.revision + 1 })
    numbers.finish()
    texts.finish()
    #expect(await states.next(isolation: nil) == nil)
  }

  @Test func `it ends with its last part, and a part that ends without a state is idle`() async {
    var states = combinedAsTheyCome(numbers, texts).makeAsyncIterator()
    texts.send(.loaded("one", 1))
    let loading = await states.first { $0.value != nil }
    #expect(loading?.fetchStatus == .fetching)
    numbers.finish()
    #expect(await states.next(isolation: nil)?.fetchStatus == .idle)
    texts.finish()
    #expect(await states.next(isolation: nil) == nil)
    #expect(await states.next(isolation: nil) == nil)
  }

  @Test func `the end of its reader ends each part`() async throws {
    let task = Task { [numbers, texts] in
      for await _ in combined(numbers, texts) {}
    }
    try await numbers.begun().wait()
    try await texts.begun().wait()
    task.cancel()
    await task.value
    try await numbers.over().wait()
    try await texts.over().wait()
    var states: CombinedStates<(Int, String)>.Iterator? = combined(numbers, texts).makeAsyncIterator()
    try await numbers.begun(2).wait()
    #expect(states != nil)
    states = nil
    try await numbers.over(2).wait()
    try await texts.over(2).wait()
  }

  @Test func `a state that arrives after the end is dropped`() async {
    let (gate, stored) = (Gate(), Shared(0))
    let parts = CombinedParts<Int>(sources: [
      { receive in
        receive(LoadState(value: ())) { stored.change { $0 = 1 } }
        await gate.waitIgnoringCancellation()
        receive(LoadState(value: ())) { stored.change { $0 = 2 } }
      }
    ]) { stored.value }
    let follower = CombinedFollower(parts, .ofAnyPart)
    let task = Task { await follower.follow(0) }
    #expect(await follower.next()?.value == 1)
    follower.cancel()
    gate.open()
    await task.value
    #expect(await follower.next() == nil)
    #expect(stored.value == 1)
  }
}

@Suite("Operators: the state of several resources")
struct CombinedMachineTests {
  private func state(
    _ parts: [LoadState<Void>], errors: CombinedErrors = .ofAnyPart
  ) throws -> LoadState<Void> {
    var machine = CombinedMachine(count: parts.count, errors: errors)
    for (number, part) in parts.enumerated() { _ = machine.receive(part, from: number) }
    guard case .yield(let state) = machine.next() else { throw Missing() }
    return state
  }

  private struct Missing: Error {}

  @Test func `one part that fetches or waits is enough`() throws {
    #expect(try state([LoadState(), LoadState(fetchStatus: .paused)]).fetchStatus == .paused)
    let all = [LoadState<Void>(fetchStatus: .paused), LoadState(fetchStatus: .fetching), LoadState()]
    #expect(try state(all).fetchStatus == .fetching)
    #expect(try state([LoadState(), LoadState()]).fetchStatus == .idle)
  }

  @Test func `a part that has yielded nothing is fetching`() throws {
    var machine = CombinedMachine(count: 2, errors: .ofAnyPart)
    _ = machine.receive(LoadState(), from: 0)
    guard case .yield(let state) = machine.next() else { throw Missing() }
    #expect(state.fetchStatus == .fetching)
    guard case .wait = machine.next() else { throw Missing() }
  }

  @Test func `the oldest value has the date, and the common origin is the origin`() throws {
    let (old, new) = (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
    let parts = [
      LoadState(value: (), origin: .network, fetchedAt: new), LoadState(value: (), origin: .memory, fetchedAt: old),
      LoadState(fetchedAt: .distantPast),
    ]
    let mixed = try state(parts)
    #expect(mixed.fetchedAt == old && mixed.origin == nil && !mixed.isStale)
    #expect(try state([parts[0], parts[0]]).origin == .network)
    #expect(try state([parts[0], LoadState(value: (), isStale: true)]).isStale)
  }

  @Test func `marks and changes of the parts are those of the whole`() throws {
    var (first, second) = (LoadState(value: ()), LoadState(value: ()))
    let ids = [UUID(), UUID()]
    (first.isPlaceholder, first.drafts, second.drafts) = (true, [ids[0]], ids)
    let whole = try state([first, second])
    #expect(whole.isPlaceholder && whole.drafts == ids)
  }

  @Test func `the first error counts, or that of a part without a value`() throws {
    let parts = [LoadState(value: (), error: .timedOut), LoadState<Void>(error: .noConnectivity)]
    guard case .timedOut? = try state(parts).error else { throw Missing() }
    guard case .noConnectivity? = try state(parts, errors: .ofMissingParts).error else { throw Missing() }
    #expect(try state([parts[0]], errors: .ofMissingParts).error == nil)
  }

  @Test func `the value has another number when a part's has, or has none`() throws {
    var machine = CombinedMachine(count: 1, errors: .ofAnyPart)
    var seen: [UInt64] = []
    for part in [
      LoadState(value: (), valueRevision: 5), LoadState(value: (), fetchStatus: .fetching, valueRevision: 5),
      LoadState(value: (), valueRevision: 6), LoadState(value: ()), LoadState(value: ()),
      LoadState<Void>(valueRevision: 7), LoadState<Void>(error: .timedOut, valueRevision: 8),
    ] {
      _ = machine.receive(part, from: 0)
      if case .yield(let state) = machine.next() { seen.append(state.valueRevision) }
    }
    #expect(seen[0] == seen[1] && seen[5] == seen[6])
    #expect(seen == seen.sorted() && Set(seen).count == 5)
  }
}

@Suite("Operators: a dashboard of resources", .timeLimit(.minutes(5)))
struct DashboardTests {
  @Test func `one refresh fetches all parts at once`() async throws {
    let (bench, gates) = (Bench(), [Gate(), Gate()])
    bench.transport.answer("/v1/a", with: .json(Note(1, "a").json).held(at: gates[0]))
    bench.transport.answer("/v1/b", with: .json(Note(2, "b").json).held(at: gates[1]))
    let dashboard = combined(
      bench.notes.states(for: "a", policy: .cacheOnly), bench.notes.states(for: "b", policy: .cacheOnly))
    let refresh = Task { await dashboard.refresh() }
    try await gates[0].waitForArrival()
    try await gates[1].waitForArrival()
    gates[1].open()
    gates[0].open()
    await refresh.value
    var states = dashboard.makeAsyncIterator()
    let value = await states.first { $0.value != nil }?.value
    #expect(value?.0.text == "a" && value?.1.text == "b")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `a failed refresh keeps the values, and has the error by the policy`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "a"), for: "a")
    try await bench.notes.save(Note(2, "b"), for: "b")
    bench.transport.answer("/v1/a", with: .json(Note(1, "new").json))
    bench.transport.answer("/v1/b", with: .response(.serviceUnavailable))
    let parts = (bench.notes.states(for: "a"), bench.notes.states(for: "b"))
    let (strict, lenient) = (combined(parts.0, parts.1), combined(parts.0, parts.1, errors: .ofMissingParts))
    var (states, others) = (strict.makeAsyncIterator(), lenient.makeAsyncIterator())
    _ = await states.first { $0.value != nil }
    _ = await others.first { $0.value != nil }
    await strict.refresh()
    let failed = await states.first { $0.error != nil && $0.fetchStatus == .idle && $0.value?.0.text == "new" }
    #expect(failed?.error?.status == 503 && failed?.value?.1.text == "b")
    let shown = await others.first { $0.fetchStatus == .idle && $0.value?.0.text == "new" }
    #expect(shown?.error == nil)
  }

  @MainActor @Test func `a LiveResource shows all parts, and refreshes them`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/a", with: .json(Note(1, "a").json), .json(Note(1, "newer").json))
    bench.transport.answer("/v1/b", with: .json(Note(2, "b").json), .json(Note(2, "newest").json))
    let dashboard = LiveResource(combined(bench.notes.states(for: "a"), bench.notes.states(for: "b")))
    #expect(dashboard.value == nil)
    var values = Observations { dashboard.value.map { "\($0.0.text) \($0.1.text)" } }.makeAsyncIterator()
    while let value = await values.next(), value != "a b" {}
    await dashboard.refresh()
    while let value = await values.next(), value != "newer newest" {}
    #expect(dashboard.value?.0.text == "newer" && dashboard.value?.1.text == "newest")
    #expect(bench.transport.requestCount == 4)
  }

  @Test func `mapped parts, placeholders and combinations are parts`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "a"), for: "a")
    bench.transport.answer("/v1/a", with: .json(Note(1, "new").json))
    bench.transport.answer("/v1/b", with: .json(Note(2, "bb").json))
    let titles = bench.notes.states(for: "a", policy: .cacheOnly).mapValues(\.text)
    let dashboard = combined(
      combined(titles, bench.notes.states(for: "b", policy: .cacheOnly).mapValues(\.id)),
      bench.notes.states(for: "b", policy: .cacheOnly).placeholder(Note(0, "…")))
    await dashboard.refresh()
    var states = dashboard.makeAsyncIterator()
    let shown = await states.first { $0.value != nil && !$0.isPlaceholder }
    let value: ((String, Int), Note)? = shown?.value
    #expect(value?.0.0 == "new" && value?.0.1 == 2 && value?.1.text == "bb")
  }
}
