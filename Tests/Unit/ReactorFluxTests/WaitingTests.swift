import ReactorFlux
import Testing

/// `waitFor`: another store's handler first.
@MainActor @Suite struct `Waiting for another store` {
  let dispatcher = Dispatcher()
  let trace = Trace()

  @Test func `waiting for a store runs its handler first, and not again`() throws {
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<B>.self)
      trace.add("A")
    }
    _ = try dispatcher.probe(B.self, trace.line("B"))
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.go, 2)
    #expect(trace.lines == ["B 1", "A", "B 2", "A"])
  }

  @Test func `waiting for a store whose handler has run returns at once`() throws {
    _ = try dispatcher.probe(B.self, trace.line("B"))
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<B>.self)
      try store.waitFor(Probe<B>.self)
      trace.add("A")
    }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["B 1", "A"])
  }

  @Test func `waiting for a store that waits for a third runs the third first`() throws {
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<B>.self)
      trace.add("A")
    }
    _ = try dispatcher.probe(B.self) { [trace] store, _ in
      try store.waitFor(Probe<C>.self)
      trace.add("B")
    }
    _ = try dispatcher.probe(C.self, trace.line("C"))
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["C 1", "B", "A"])
  }

  @Test func `waiting in a diamond runs the lowest store once`() throws {
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<B>.self)
      try store.waitFor(Probe<C>.self)
      trace.add("A")
    }
    _ = try dispatcher.probe(B.self) { [trace] store, _ in
      try store.waitFor(Probe<D>.self)
      trace.add("B")
    }
    _ = try dispatcher.probe(C.self) { [trace] store, _ in
      try store.waitFor(Probe<D>.self)
      trace.add("C")
    }
    _ = try dispatcher.probe(D.self, trace.line("D"))
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["D 1", "B", "C", "A"])
  }

  @Test func `waiting for a store that waits back is a cycle, with its path, and the others run`() throws {
    let reports = Reports(of: dispatcher)
    let first = try dispatcher.probe(A.self) { store, _ in try store.waitFor(Probe<B>.self) }
    let second = try dispatcher.probe(B.self) { store, _ in try store.waitFor(Probe<A>.self) }
    _ = try dispatcher.probe(C.self, trace.line("C"))
    dispatcher.dispatch(.go, 1)
    let cycle = FluxError.waitCycle(path: [name(Probe<A>.self), name(Probe<B>.self), name(Probe<A>.self)])
    let error = FluxError.handlerFailed(store: name(Probe<B>.self), event: "go", cycle)
    #expect(reports.lines == [error.description])
    #expect(trace.lines == ["C 1"])
    #expect(first.values == [1] && second.values == [1])
  }

  @Test func `a wait cycle of three names only its stores, not those before`() throws {
    var thrown: [String] = []
    _ = try dispatcher.probe(D.self) { store, _ in try store.waitFor(Probe<A>.self) }
    _ = try dispatcher.probe(A.self) { store, _ in try store.waitFor(Probe<B>.self) }
    _ = try dispatcher.probe(B.self) { store, _ in try store.waitFor(Probe<C>.self) }
    _ = try dispatcher.probe(C.self) { store, _ in
      do throws(FluxError) { try store.waitFor(Probe<A>.self) } catch { thrown.append(error.description) }
    }
    dispatcher.dispatch(.go, 1)
    let path = [name(Probe<A>.self), name(Probe<B>.self), name(Probe<C>.self), name(Probe<A>.self)]
    #expect(thrown == [FluxError.waitCycle(path: path).description])
    dispatcher.dispatch(.go, 2)
    #expect(thrown.count == 2)
  }

  @Test func `a store that waits for itself is a cycle`() throws {
    let reports = Reports(of: dispatcher)
    _ = try dispatcher.probe(A.self) { store, _ in try store.waitFor(Probe<A>.self) }
    dispatcher.dispatch(.go, 1)
    let cycle = FluxError.waitCycle(path: [name(Probe<A>.self), name(Probe<A>.self)])
    #expect(reports.lines == [FluxError.handlerFailed(store: name(Probe<A>.self), event: "go", cycle).description])
  }

  @Test func `waiting for a store whose handler throws returns, and that store is reported`() throws {
    let reports = Reports(of: dispatcher)
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<B>.self)
      trace.add("A")
    }
    _ = try dispatcher.probe(B.self) { _, _ in throw Refused() }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["A"])
    #expect(reports.lines == [FluxError.handlerFailed(store: name(Probe<B>.self), event: "go", Refused()).description])
  }

  @Test func `waiting for an unregistered store is an error`() throws {
    let reports = Reports(of: dispatcher)
    _ = try dispatcher.probe(A.self) { store, _ in try store.waitFor(Counter.self) }
    dispatcher.dispatch(.go, 1)
    let error = FluxError.notRegistered(store: name(Counter.self))
    #expect(reports.lines == [FluxError.handlerFailed(store: name(Probe<A>.self), event: "go", error).description])
  }

  @Test func `waiting for a store that does not handle the event returns at once`() throws {
    try dispatcher.register(Counter.self)
    _ = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Counter.self)
      trace.add("A")
    }
    dispatcher.dispatch(.next, 1)
    #expect(trace.lines == ["A"])
  }

  @Test func `waiting outside of a handler is an error, in an observer and a middleware too`() throws {
    let store = try dispatcher.probe(A.self) { store, _ in store.emitChange() }
    _ = try dispatcher.probe(B.self)
    let owner = Owner()
    let error = FluxError.nothingToWaitFor(store: name(Probe<A>.self))
    expect(error) { try store.waitFor(Probe<B>.self) }
    var told = 0
    store.observe(owner) { store, _ in
      told += 1
      expect(error) { try store.waitFor(Probe<B>.self) }
    }
    dispatcher.use { action, next in
      expect(error) { try store.waitFor(Probe<B>.self) }
      next(action)
      expect(error) { try store.waitFor(Probe<B>.self) }
    }
    dispatcher.dispatch(.go, 1)
    #expect(told == 1)
  }

  @Test func `waiting by a store of no dispatcher, or of another, is an error`() throws {
    let stranger = Probe<A>()
    expect(.nothingToWaitFor(store: name(Probe<A>.self))) { try stranger.waitFor(Probe<B>.self) }
    let other = Dispatcher()
    let elsewhere = try other.probe(C.self)
    _ = try other.probe(B.self)
    var thrown: String?
    _ = try dispatcher.probe(A.self) { _, _ in
      do throws(FluxError) { try elsewhere.waitFor(Probe<B>.self) } catch { thrown = error.description }
    }
    dispatcher.dispatch(.go, 1)
    #expect(thrown == FluxError.nothingToWaitFor(store: name(Probe<C>.self)).description)
  }
}
