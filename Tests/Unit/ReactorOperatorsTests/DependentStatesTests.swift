import HTTPTypes
import ReactorCore
import ReactorOperators
import ReactorTesting
import TestSupport
import Testing

@Suite("Operators: states of what depends on a value", .timeLimit(.minutes(5)))
struct DependentStatesTests {
  typealias Dependents = DependentStates<LoadStates<Note>, LoadStates<Note>, Note, Note>

  /// The note that the note "me" names by its number.
  private func dependents(_ bench: Bench, policy: FetchPolicy = .staleWhileRevalidate) -> Dependents {
    bench.notes.states(for: "me", policy: policy).dependentStates { [notes = bench.notes] me in
      notes.states(for: Resource("notes/\(me.id)"))
    }
  }

  private func text(_ name: String, _ state: LoadState<Note>?) -> Bool { state?.value?.text == name }

  @Test func `a dependent value is shown once the outer one exists`() async throws {
    let bench = Bench()
    let gate = Gate()
    bench.transport.answer("/v1/me", with: .json(Note(7, "me").json).held(at: gate))
    bench.transport.answer("/v1/notes/7", with: .json(Note(7, "seven").json))
    let sequence = dependents(bench)
    #expect(bench.transport.requestCount == 0)
    var states = sequence.makeAsyncIterator()
    let first = await states.next(isolation: nil)
    #expect(first?.value == nil && first?.fetchStatus == .fetching)
    try await bench.transport.waitForRequests()
    gate.open()
    let loaded = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    #expect(loaded?.value?.text == "seven" && loaded?.origin == .network && loaded?.fetchedAt != nil)
    #expect(bench.transport.requests.map(\.path) == ["/v1/me", "/v1/notes/7"])
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `another value switches, and the request for the old one is cancelled`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "me"), for: "me")
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json).held(at: Gate()))
    bench.transport.answer("/v1/notes/2", with: .json(Note(2, "two").json))
    var states = dependents(bench).makeAsyncIterator()
    try await bench.transport.waitForRequests()
    try await bench.notes.save(Note(2, "me"), for: "me")
    try await bench.transport.waitForCancellations()
    #expect(await states.first { $0.value != nil }?.value?.text == "two")
    #expect(bench.transport.requests.map(\.path) == ["/v1/notes/1", "/v1/notes/2"])
    await bench.notes.invalidate("notes/1")
    #expect(bench.transport.requestCount == 2)
  }

  @Test func `the old one's answer that arrives after the switch does not appear`() async throws {
    let bench = Bench()
    let gate = Gate()
    try await bench.notes.save(Note(1, "me"), for: "me")
    bench.transport.answer(
      "/v1/notes/1", with: .json(Note(1, "one").json).held(at: gate, ignoresCancellation: true))
    bench.transport.answer("/v1/notes/2", with: .json(Note(2, "two").json), .json(Note(2, "new").json))
    var states = dependents(bench).makeAsyncIterator()
    try await gate.waitForArrival()
    try await bench.notes.save(Note(2, "me"), for: "me")
    #expect(await states.first { $0.value != nil }?.value?.text == "two")
    gate.open()
    await bench.notes.invalidate("notes/2")
    let next = await states.first { $0.value?.text != "two" }
    #expect(next?.value?.text == "new")
  }

  @Test func `a value that leads to the same sequence leaves it undisturbed`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "me"), for: "me")
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json))
    let made = Shared(0)
    let renamed = Latch()
    var states = bench.notes.states(for: "me").dependentStates { [notes = bench.notes] me in
      made.change { $0 += 1 }
      if me.text == "renamed" { renamed.open() }
      return notes.states(for: Resource("notes/\(me.id)"))
    }.makeAsyncIterator()
    let before = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    try await bench.notes.save(Note(1, "renamed"), for: "me")
    try await renamed.wait()
    try await bench.notes.save(Note(1, "changed"), for: "notes/1")
    let after = await states.next(isolation: nil)
    #expect(after?.value?.text == "changed")
    #expect(made.value == 2)
    #expect(try #require(after?.revision) == #require(before?.revision) + 1)
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a value that was removed ends what depends on it, until there is one again`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "me"), for: "me")
    try await bench.notes.save(Note(1, "one"), for: "notes/1")
    var states = dependents(bench).makeAsyncIterator()
    let shown = await states.first { $0.value != nil }
    try await bench.notes.remove("me")
    let removed = await states.first { $0.value == nil }
    #expect(removed?.fetchStatus == .idle && removed?.error == nil)
    #expect(try #require(removed?.valueRevision) > #require(shown?.valueRevision))
    try await bench.notes.save(Note(1, "me"), for: "me")
    #expect(await states.first { $0.value != nil }?.value?.text == "one")
    #expect(bench.transport.requestCount == 0)
  }

  @Test func `without a value there are its error and status`() async throws {
    let bench = Bench()
    bench.transport.answer("/v1/me", with: .response(.serviceUnavailable), .json(Note(1, "me").json))
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json))
    var states = dependents(bench).makeAsyncIterator()
    let failed = await states.first { $0.error != nil }
    #expect(failed?.value == nil && failed?.error?.status == 503 && failed?.fetchStatus == .idle)
    bench.reachability.set(false)
    await bench.notes.invalidate("me")
    let paused = await states.first { $0.fetchStatus == .paused }
    #expect(paused?.value == nil)
    bench.reachability.set(true)
    let loaded = await states.first { $0.value != nil && $0.fetchStatus == .idle }
    #expect(loaded?.value?.text == "one" && loaded?.error == nil)
    #expect(bench.stillWaiting.isEmpty)
  }

  @Test func `three levels follow each other`() async throws {
    let bench = Bench()
    let notes = bench.notes
    for n in 1...2 {
      try await notes.save(Note(n * 10, "second"), for: Resource("second/\(n)"))
      try await notes.save(Note(n * 100, "third"), for: Resource("third/\(n * 10)"))
      try await notes.save(Note(n, "fourth of \(n)"), for: Resource("fourth/\(n * 100)"))
    }
    try await notes.save(Note(1, "first"), for: "first")
    var states = notes.states(for: "first")
      .dependentStates { notes.states(for: Resource("second/\($0.id)")) }
      .dependentStates { notes.states(for: Resource("third/\($0.id)")) }
      .dependentStates { notes.states(for: Resource("fourth/\($0.id)")) }
      .makeAsyncIterator()
    #expect(await states.first { $0.value != nil }?.value?.text == "fourth of 1")
    try await notes.save(Note(2, "first"), for: "first")
    let next = await states.first { $0.value?.text != "fourth of 1" }
    #expect(next?.value == nil)
    #expect(await states.first { $0.value != nil }?.value?.text == "fourth of 2")
    try await notes.remove("first")
    let removed = await states.first { $0.value == nil && $0.fetchStatus == .idle }
    #expect(removed?.error == nil)
  }

  @Test func `states are equal where reactor, resource and policy are`() {
    let (bench, other) = (Bench(), Bench())
    let states = bench.notes.states(for: "note")
    #expect(states == bench.notes.states(for: "note", policy: .staleWhileRevalidate))
    #expect(states == bench.layer.reactor(Note.self).states(for: "note"))
    #expect(states != bench.notes.states(for: "other"))
    #expect(states != bench.notes.states(for: "note", policy: .cacheFirst))
    #expect(states != other.notes.states(for: "note"))
    #expect(states != bench.layer.reactor(Note.self, parser: nil).states(for: "note"))
  }
}

@Suite("Operators: the end of what depends on a value", .timeLimit(.minutes(5)))
struct DependentStatesEndTests {
  /// States of a value in memory, on which a request depends that is not answered.
  private func waiting() async throws -> (Bench, DependentStates<LoadStates<Note>, LoadStates<Note>, Note, Note>) {
    let bench = Bench()
    try await bench.notes.save(Note(1, "me"), for: "me")
    bench.transport.answer("/v1/notes/1", with: .json(Note(1, "one").json).held(at: Gate()))
    let states = bench.notes.states(for: "me").dependentStates { [notes = bench.notes] me in
      notes.states(for: Resource("notes/\(me.id)"))
    }
    return (bench, states)
  }

  @Test func `cancelling the reader ends both subscriptions and the request`() async throws {
    let (bench, states) = try await waiting()
    let reader = Reader(states)
    try await bench.transport.waitForRequests()
    await reader.cancel()
    try await bench.transport.waitForCancellations()
    await bench.notes.invalidate("me")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `releasing the iterator ends both subscriptions and the request`() async throws {
    let (bench, sequence) = try await waiting()
    var states: Optional = sequence.makeAsyncIterator()
    try await bench.transport.waitForRequests()
    #expect(await states?.next(isolation: nil)?.fetchStatus == .fetching)
    states = nil
    try await bench.transport.waitForCancellations()
    await bench.notes.invalidate("me")
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `a cancelled task gets nothing`() async throws {
    let outer = ScriptedStates<Int>()
    let states = outer.dependentStates { ScriptedStates<Int>("\($0)") }
    let cancelled = Gate()
    let reader = Task {
      await cancelled.waitIgnoringCancellation()
      return try await states.collect().count
    }
    reader.cancel()
    cancelled.open()
    #expect(try await reader.value == 0)
    try await outer.over().wait()
  }

  @Test func `nothing is retained once the iterator is released`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<Token>())
    let (value, closure) = (Latch(), Latch())
    var states: Optional = {
      let token = Token { closure.open() }
      return outer.dependentStates { _ in withExtendedLifetime(token) { inner } }.makeAsyncIterator()
    }()
    outer.send(.loaded(1, 1))
    try await inner.begun().wait()
    inner.send(.loaded(Token { value.open() }, 1))
    #expect(await states?.first { $0.value != nil } != nil)
    #expect(!value.isOpen && !closure.isOpen)
    states = nil
    for latch in [outer.over(), inner.over(), value, closure] { try await latch.wait() }
  }

  @Test func `the reactor is released with the iterator`() async throws {
    let released = Latch()
    do {
      let token = Token { released.open() }
      let hold = Gate()
      let transport = ScriptedTransport { _, _ in
        try await withExtendedLifetime(token) { hold }.wait()
        return .json(Note(1, "one").json)
      }
      let bench = Bench(transport: transport)
      try await bench.notes.save(Note(1, "me"), for: "me")
      let notes = bench.notes
      var states: Optional = notes.states(for: "me").dependentStates { notes.states(for: Resource("notes/\($0.id)")) }
        .makeAsyncIterator()
      try await transport.waitForRequests()
      #expect(await states?.next(isolation: nil)?.value == nil)
      states = nil
    }
    try await released.wait()
  }

  @Test func `dependent states end when both sequences have ended, after their last state`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<String>())
    var states = outer.dependentStates { _ in inner }.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    outer.finish()
    try await inner.begun().wait()
    try await outer.over().wait()
    inner.send(.loaded("a", 1))
    #expect(await states.first { $0.value != nil }?.value == "a")
    inner.send(.loaded("b", 2))
    inner.finish()
    try await inner.over().wait()
    #expect(await states.next(isolation: nil)?.value == "b")
    #expect(await states.next(isolation: nil) == nil)
    #expect(await states.next(isolation: nil) == nil)
  }

  @Test func `dependent states end with an outer sequence that has no value`() async throws {
    let (outer, inner) = (ScriptedStates<Int>(), ScriptedStates<String>())
    let sequence = outer.dependentStates { _ in inner }
    for (number, states) in [[], [LoadState<Int>(error: .timedOut)]].enumerated() {
      let reader = Reader(sequence)
      try await outer.begun(number + 1).wait()
      for state in states { outer.send(state) }
      outer.finish()
      var last: LoadState<String>?
      while let state = try await reader.next() { last = state }
      #expect((last != nil) == !states.isEmpty)
    }
    var states = sequence.makeAsyncIterator()
    outer.send(.loaded(1, 1))
    try await inner.begun().wait()
    inner.send(.loaded("a", 1))
    #expect(await states.first { $0.value != nil } != nil)
    outer.send(LoadState(error: .timedOut, revision: 2))
    #expect(await states.next(isolation: nil)?.error != nil)
    outer.finish()
    #expect(await states.next(isolation: nil) == nil)
    try await inner.over().wait()
  }

  @Test func `a dependent sequence that ends stays as it was, and an empty one is idle`() async throws {
    let outer = ScriptedStates<Int>()
    let inner = [ScriptedStates<String>("0"), ScriptedStates<String>("1")]
    var states = outer.dependentStates { inner[$0] }.makeAsyncIterator()
    outer.send(.loaded(0, 1))
    try await inner[0].begun().wait()
    inner[0].finish()
    let empty = await states.first { $0.fetchStatus == .idle }
    #expect(empty?.value == nil && empty?.error == nil)
    outer.send(.loaded(1, 2))
    try await inner[1].begun().wait()
    inner[1].send(.loaded("a", 1))
    inner[1].finish()
    try await inner[1].over().wait()
    #expect(await states.first { $0.value != nil }?.value == "a")
    outer.send(.loaded(1, 3), .loaded(0, 4))
    let switched = await states.next(isolation: nil)
    #expect(switched?.value == nil && switched?.fetchStatus == .fetching)
    #expect(inner[1].count == 1)
  }
}
