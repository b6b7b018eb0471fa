import ReactorFlux
import Testing

/// The middlewares between a dispatch and the stores.
@MainActor @Suite struct Middlewares {
  let dispatcher = Dispatcher()
  let trace = Trace()

  @Test func `middlewares are passed in the order in which they were added, and return in the other`() throws {
    _ = try dispatcher.probe(A.self, trace.line("A"))
    for name in ["first", "second"] {
      dispatcher.use { [trace] action, next in
        trace.add("\(name) \(action.name)")
        next(action)
        trace.add("\(name) is done")
      }
    }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["first go", "second go", "A 1", "second is done", "first is done"])
  }

  @Test func `middlewares see payload, error and type, and get the typed action back`() {
    dispatcher.use { [trace] action, next in
      trace.add("\(action.payload ?? "none"), \(action.error.map { "\($0)" } ?? "none"), \(action.payloadType)")
      #expect(action.action(of: Event<String>("go")) == nil)
      #expect(action.action(of: .next) == nil)
      #expect((action.action(of: .go) != nil) == (action.name == "go"))
    }
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, error: Refused())
    dispatcher.dispatch(Event<Void>("void"))
    #expect(trace.lines == ["1, none, Int", "none, Refused(), Int", "(), none, ()"])
  }

  @Test func `middlewares may drop an action`() throws {
    let store = try dispatcher.probe(A.self)
    dispatcher.use { action, next in if action.payload as? Int != 2 { next(action) } }
    dispatcher.use { [trace] action, next in
      trace.add("\(action.payload ?? 0)")
      next(action)
    }
    for value in 1...3 { dispatcher.dispatch(.go, value) }
    #expect(store.values == [1, 3])
    #expect(trace.lines == ["1", "3"])
  }

  @Test func `middlewares may replace an action, also by one of another event`() throws {
    let reports = Reports(of: dispatcher)
    let store = try dispatcher.probe(A.self)
    try dispatcher.register(Counter.self)
    dispatcher.use { action, next in
      guard let go = action.action(of: .go), let payload = go.payload else { return next(action) }
      next(payload > 5 ? AnyAction(Action(.next, payload * 10)) : AnyAction(Action(.go, payload * 2)))
    }
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, 6)
    #expect(store.values == [2, 60])
    #expect(try dispatcher.store(Counter.self).sum == 2)
    dispatcher.use { _, next in next(AnyAction(Action(Event<String>("go"), "1"))) }
    dispatcher.dispatch(.go, 1)
    #expect(store.values == [2, 60])
    let conflict = FluxError.conflictingPayloads(event: "go", known: "Swift.Int", other: "Swift.String")
    #expect(reports.lines == [conflict.description])
  }

  @Test func `middlewares may add actions, whose changes are notified together`() throws {
    let store = try dispatcher.probe(A.self) { store, _ in store.emitChange() }
    let owner = Owner()
    store.observe(owner) { [trace] store, _ in trace.add("\(store.values)") }
    dispatcher.use { action, next in
      next(AnyAction(Action(.go, 0)))
      next(action)
      next(action)
    }
    dispatcher.dispatch(.next, 1)
    #expect(trace.lines == ["[0, 1, 1]"])
  }

  @Test func `dispatch what comes after the action, and passes them too`() throws {
    let store = try dispatcher.probe(A.self)
    dispatcher.use { [dispatcher, trace] action, next in
      trace.add("\(action.payload ?? 0)")
      if action.payload as? Int == 1 { dispatcher.dispatch(.go, 2) }
      next(action)
    }
    dispatcher.dispatch(.go, 1)
    #expect(store.values == [1, 2])
    #expect(trace.lines == ["1", "2"])
  }

  @Test func `middlewares that dispatch what they drop end at the stated depth`() throws {
    let reports = Reports(of: dispatcher)
    dispatcher.use { [dispatcher] action, _ in dispatcher.dispatch(action) }
    dispatcher.dispatch(.go, 1)
    #expect(reports.lines == [FluxError.tooDeep(event: "go").description])
  }

  @Test func `added by a handler are passed by the next action`() throws {
    let store = try dispatcher.probe(A.self) { [dispatcher] store, _ in
      if store.values.count == 1 { dispatcher.use { _, _ in } }
    }
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, 2)
    #expect(store.values == [1])
  }

  @Test func `middlewares are passed by posted actions and by those of effects`() async throws {
    dispatcher.use { [trace] action, next in
      trace.add(action.name)
      next(action)
    }
    dispatcher.post(.go, 1)
    await dispatcher.dispatch(.next) { 1 }
    #expect(trace.lines == ["go", "next"])
  }

  @Test func `middlewares that log write names and types, never contents, before the handlers run`() throws {
    _ = try dispatcher.probe(A.self, trace.line("A"))
    dispatcher.use(ActionLogger { [trace] in trace.add($0) })
    dispatcher.dispatch(.go, 42)
    dispatcher.dispatch(.next, error: Refused())
    dispatcher.dispatch(Event<String>("token"), "secret")
    dispatcher.dispatch(Event<Void>("void"))
    #expect(trace.lines == ["go (Int)", "A 42", "next failed: Refused", "A 0", "token (String)", "void (())"])
  }
}
