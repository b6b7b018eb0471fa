import ReactorFlux
import Testing

/// The notifications of observers, and their order.
@MainActor @Suite struct Changes {
  let dispatcher = Dispatcher()
  let trace = Trace()
  let owner = Owner()

  @Test func `observers are notified once for each dispatch and store, after all handlers`() throws {
    let first = try dispatcher.probe(A.self) { [trace] store, _ in
      for _ in 1...3 { store.emitChange() }
      trace.add("A")
    }
    let second = try dispatcher.probe(B.self) { [trace] store, _ in
      store.emitChange()
      first.emitChange()
      trace.add("B")
    }
    second.observe(owner) { [trace] _, _ in trace.add("B changed") }
    first.observe(owner) { [trace] _, _ in trace.add("A changed") }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["A", "B", "A changed", "B changed"])
  }

  @Test func `a change has the last of several errors, even if a change without one follows`() throws {
    struct Other: Error {}
    var errors: [(any Error)?] = []
    let store = try dispatcher.probe(A.self) { store, action in
      if action.payload != 2 { store.emitChange(error: Other()) }
      if action.payload == 1 { store.emitChange(error: Refused()) }
      store.emitChange()
    }
    store.observe(owner) { errors.append($1) }
    for value in 0...2 { dispatcher.dispatch(.go, value) }
    #expect(errors.count == 3)
    #expect(errors[0] is Other)
    #expect(errors[1] is Refused)
    #expect(errors[2] == nil)
  }

  @Test func `changes outside of a dispatch are notified at once, each`() throws {
    let store = try dispatcher.probe(A.self)
    var errors: [(any Error)?] = []
    store.observe(owner) { errors.append($1) }
    store.emitChange()
    #expect(errors.count == 1)
    store.emitChange(error: Refused())
    #expect(errors.count == 2)
    #expect(errors.last is Refused)
  }

  @Test func `the changes of a store without a dispatcher are notified too`() {
    let store = Probe<A>()
    store.observe(owner) { [trace] _, _ in trace.add("told") }
    store.emitChange()
    #expect(trace.lines == ["told"])
  }

  @Test func `reach observers in the order in which they came, and the dispatcher's last`() throws {
    let store = try dispatcher.probe(A.self)
    dispatcher.observe(owner) { [trace] changed, error in
      trace.add("any \(changed === store) \(error is Refused)")
    }
    store.observe(owner) { [trace] _, _ in trace.add("first") }
    store.observe(owner, with: { [trace, owner] given, _, _ in trace.add("second \(given === owner)") })
    store.emitChange(error: Refused())
    #expect(trace.lines == ["first", "second true", "any true true"])
  }

  @Test func `changes in an observer are notified after it, also those of other stores`() throws {
    let first = try dispatcher.probe(A.self)
    let second = try dispatcher.probe(B.self)
    second.observe(owner) { [trace] _, _ in trace.add("B changed") }
    first.observe(owner) { [trace] store, _ in
      trace.add("A changed")
      guard trace.lines.count == 1 else { return }
      second.emitChange()
      store.emitChange()
      trace.add("first is done")
    }
    first.observe(owner) { [trace] _, _ in trace.add("second") }
    first.emitChange()
    let expected = ["A changed", "first is done", "second", "B changed", "A changed", "second"]
    #expect(trace.lines == expected)
  }

  @Test func `an action that an observer dispatches is handled after all observers`() throws {
    let store = try dispatcher.probe(A.self) { [trace] store, action in
      trace.add("go \(action.payload ?? 0)")
      store.emitChange()
    }
    store.observe(owner) { [dispatcher, trace] store, _ in
      trace.add("first")
      if store.values.count < 2 { dispatcher.dispatch(.go, 2) }
    }
    store.observe(owner) { [trace] _, _ in trace.add("second") }
    dispatcher.dispatch(.go, 1)
    let run = ["first", "second", "go 2", "first", "second"]
    #expect(trace.lines == ["go 1"] + run)
    // The same from a change outside of a dispatch.
    let other = try Dispatcher().probe(A.self)
    other.observe(owner) { [dispatcher] _, _ in dispatcher.dispatch(.next, 3) }
    other.emitChange()
    #expect(store.values == [1, 2, 3])
  }

  @Test func `changes without end are reported once, and end`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self)
    var told = 0
    store.observe(owner) { store, _ in
      told += 1
      store.emitChange()
    }
    let error = FluxError.changesWithoutEnd(store: name(Probe<A>.self))
    store.emitChange()
    #expect(reports.lines == [error.description])
    #expect(told == Dispatcher.maximumDepth)
    store.emitChange()
    #expect(reports.lines.count == 2)
    #expect(told == 2 * Dispatcher.maximumDepth)
    dispatcher.dispatch(.go, 1)
    #expect(store.values == [1])
  }

  @Test func `changes without end between two stores end too`() throws {
    let reports = Reports(of: dispatcher)
    let first = try dispatcher.probe(A.self)
    let second = try dispatcher.probe(B.self)
    first.observe(owner) { _, _ in second.emitChange() }
    second.observe(owner) { _, _ in first.emitChange() }
    first.emitChange()
    #expect(reports.lines == [FluxError.changesWithoutEnd(store: name(Probe<A>.self)).description])
  }

  @Test func `changes without end also end if the report changes the store`() throws {
    let store = try dispatcher.probe(A.self)
    var reports = 0
    dispatcher.onFailure = { _ in
      reports += 1
      store.emitChange()
    }
    store.observe(owner) { store, _ in store.emitChange() }
    store.emitChange()
    #expect(reports == 1)
  }

  @Test func `more changes than the limit in one observer's call are one change, and no endless run`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self) { store, _ in store.emitChange() }
    var told = 0
    store.observe(owner) { store, _ in
      told += 1
      if told % 2 == 1 { for _ in 1...1_000 { store.emitChange() } }
    }
    for value in 1...500 { dispatcher.dispatch(.go, value) }
    #expect(told == 1_000)
    #expect(reports.lines == [])
  }
}
