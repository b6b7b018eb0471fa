import ReactorFlux
import Testing

/// In which order what is dispatched reaches the stores.
@MainActor @Suite struct Dispatching {
  let dispatcher = Dispatcher()
  let trace = Trace()

  @Test func `a dispatch runs each handler once, in the order of registration, before it returns`() throws {
    _ = try dispatcher.probe(B.self, trace.line("B"))
    _ = try dispatcher.probe(A.self, trace.line("A"))
    _ = try dispatcher.probe(C.self, trace.line("C"))
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.next, 2)
    #expect(trace.lines == ["B 1", "A 1", "C 1", "B 2", "A 2", "C 2"])
  }

  @Test func `a dispatched action carries the payload or the error`() throws {
    var payloads: [Int?] = []
    var errors: [(any Error)?] = []
    _ = try dispatcher.probe(A.self) { _, action in
      payloads.append(action.payload)
      errors.append(action.error)
    }
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, error: Refused())
    dispatcher.dispatch(Action(.go, 2))
    dispatcher.dispatch(AnyAction(Action(.go, 3)))
    #expect(payloads == [1, nil, 2, 3])
    #expect(errors.map { $0 is Refused } == [false, true, false, false])
  }

  @Test func `an event that no store handles does nothing`() throws {
    let reports = Reports(of: dispatcher)
    _ = try dispatcher.probe(A.self, trace.line("A"))
    dispatcher.dispatch(Event<Void>("nobody"))
    #expect(trace.lines == [])
    #expect(reports.lines == [])
  }

  @Test func `a dispatch within a handler is queued, and handled after the current action's observers`() throws {
    let owner = Owner()
    let first = try dispatcher.probe(A.self) { [trace, dispatcher] store, action in
      trace.add("A \(action.payload ?? 0)")
      if action.payload == 1 {
        dispatcher.dispatch(.go, 2)
        dispatcher.dispatch(.next, 3)
        trace.add("A goes on")
      }
      if action.payload == 2 { dispatcher.dispatch(.go, 4) }
      store.emitChange()
    }
    _ = try dispatcher.probe(B.self, trace.line("B"))
    first.observe(owner) { [trace] _, _ in trace.add("told") }
    dispatcher.dispatch(.go, 1)
    let expected = "A 1, A goes on, B 1, told, A 2, B 2, told, A 3, B 3, told, A 4, B 4, told"
    #expect(trace.lines.joined(separator: ", ") == expected)
  }

  @Test func `a dispatch to another dispatcher within a handler is handled at once, and back is queued`() throws {
    let other = Dispatcher()
    _ = try other.probe(B.self) { [trace, dispatcher] _, action in
      trace.add("B \(action.payload ?? 0)")
      dispatcher.dispatch(.next, 3)
    }
    _ = try dispatcher.probe(A.self) { [trace] _, action in
      trace.add("A \(action.payload ?? 0)")
      if action.payload == 1 { other.dispatch(.go, 2) }
      trace.add("A is done")
    }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["A 1", "B 2", "A is done", "A 3", "A is done"])
  }

  @Test func `a handler that throws is reported, and the others run`() throws {
    let reports = Reports(of: dispatcher)
    _ = try dispatcher.probe(A.self) { _, _ in throw Refused() }
    _ = try dispatcher.probe(B.self, trace.line("B"))
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["B 1"])
    let error = FluxError.handlerFailed(store: name(Probe<A>.self), event: "go", Refused())
    #expect(reports.lines == [error.description])
    guard case .handlerFailed(_, _, let cause) = reports.errors.first else { return }
    #expect(cause as? Refused == Refused())
  }

  @Test func `onFailure may replace itself, and dispatch`() throws {
    let store = try dispatcher.probe(A.self) { _, action in if action.payload != 2 { throw Refused() } }
    let reports = Reports(of: Dispatcher())
    dispatcher.onFailure = { [trace, dispatcher] _ in
      trace.add("first")
      dispatcher.dispatch(.next, 2)
      dispatcher.onFailure = { _ in trace.add("second") }
    }
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, 3)
    #expect(trace.lines == ["first", "second"])
    #expect(store.values == [1, 2, 3])
    #expect(reports.lines == [])
  }
}

/// Handlers whose dispatches have no end.
@MainActor @Suite struct `Dispatching without end` {
  let dispatcher = Dispatcher()

  @Test func `dispatching without end is reported once at the stated depth, and the run ends`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self) { [dispatcher] _, action in
      dispatcher.dispatch(.go, (action.payload ?? 0) + 1)
    }
    dispatcher.dispatch(.go, 0)
    #expect(reports.lines == [FluxError.tooDeep(event: "go").description])
    #expect(store.values == Array(0...Dispatcher.maximumDepth))
    dispatcher.dispatch(.go, 0)
    #expect(reports.lines.count == 2)
    #expect(store.values.count == 2 * (Dispatcher.maximumDepth + 1))
  }

  @Test func `dispatching several actions for each without end is reported once, and the run ends`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self) { [dispatcher] _, _ in
      dispatcher.dispatch(.go, 0)
      dispatcher.dispatch(.next, 0)
    }
    dispatcher.dispatch(.go, 0)
    #expect(reports.errors.count == 1)
    #expect(store.values.count == 100_001)
  }

  @Test func `the depth does not count the actions that one handler dispatches`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self) { [dispatcher] _, action in
      guard action.payload == 0 else { return }
      for number in 1...150_000 { dispatcher.dispatch(.go, number) }
    }
    dispatcher.dispatch(.go, 0)
    #expect(store.values == Array(0...150_000))
    #expect(reports.lines == [])
  }

  @Test func `dispatching without end also ends if the report dispatches`() throws {
    let store = try dispatcher.probe(A.self) { _, _ in throw Refused() }
    var reports = 0
    dispatcher.onFailure = { [dispatcher] _ in
      reports += 1
      dispatcher.dispatch(.go, 0)
    }
    dispatcher.dispatch(.go, 0)
    #expect(store.values.count == Dispatcher.maximumDepth + 1)
    #expect(reports == Dispatcher.maximumDepth + 2)
  }

  @Test func `dispatching without end by an observer ends as well`() throws {
    let reports = Reports(of: dispatcher)
    let owner = Owner()
    let store = try dispatcher.probe(A.self) { store, _ in store.emitChange() }
    store.observe(owner) { [dispatcher] _, _ in dispatcher.dispatch(.go, 0) }
    dispatcher.dispatch(.go, 0)
    #expect(reports.lines == [FluxError.tooDeep(event: "go").description])
    #expect(store.values.count == Dispatcher.maximumDepth + 1)
  }

  @Test func `dispatching without end between two dispatchers ends as well`() throws {
    let other = Dispatcher()
    let reports = Reports(of: dispatcher)
    let there = try other.probe(B.self) { [dispatcher] _, _ in dispatcher.dispatch(.go, 0) }
    let here = try dispatcher.probe(A.self) { _, _ in other.dispatch(.go, 0) }
    dispatcher.dispatch(.go, 0)
    #expect(reports.lines == [FluxError.tooDeep(event: "go").description])
    #expect(here.values.count == there.values.count)
  }
}
