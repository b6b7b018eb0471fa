import Testing

@testable import ReactorFlux

/// Several actions as one change.
@MainActor @Suite struct Batching {
  let dispatcher = Dispatcher()
  let trace = Trace()
  let owner = Owner()

  /// A store that writes what it handles, and a line for each notification.
  private func observed(_ body: @escaping Probe<A>.Body = { _, _ in }) throws {
    let probe = try dispatcher.probe(A.self) { [trace] store, action in
      trace.add("\(action.payload ?? 0)")
      try body(store, action)
      store.emitChange()
    }
    probe.observe(owner) { [trace] store, _ in trace.add("told of \(store.values.count)") }
  }

  @Test func `a batch handles its actions in order after its body, and notifies observers once`() throws {
    try observed()
    dispatcher.batch {
      dispatcher.dispatch(.go, 1)
      dispatcher.dispatch(.next, 2)
      dispatcher.dispatch(AnyAction(Action(.go, 3)))
      trace.add("end of body")
    }
    #expect(trace.lines == ["end of body", "1", "2", "3", "told of 3"])
    dispatcher.dispatch(.go, 4)
    #expect(trace.lines.suffix(2) == ["4", "told of 4"])
  }

  @Test func `a batch passes each action through the middlewares`() throws {
    try observed()
    dispatcher.use { [trace] action, next in
      trace.add("middleware")
      if (action.payload as? Int) != 2 { next(action) }
    }
    dispatcher.batch {
      for number in 1...3 { dispatcher.dispatch(.go, number) }
    }
    #expect(trace.lines == ["middleware", "1", "middleware", "middleware", "3", "told of 2"])
  }

  @Test func `actions that handlers dispatch follow the batch, each as a separate change`() throws {
    try observed { [dispatcher] _, action in
      if let number = action.payload, number < 10 { dispatcher.dispatch(.go, number * 10) }
    }
    dispatcher.batch {
      dispatcher.dispatch(.go, 1)
      dispatcher.dispatch(.go, 2)
    }
    #expect(trace.lines == ["1", "2", "told of 2", "10", "told of 3", "20", "told of 4"])
  }

  @Test func `a batch within a handler is queued whole, and is one change`() throws {
    try observed { [dispatcher] _, action in
      guard action.payload == 1 else { return }
      dispatcher.dispatch(.go, 2)
      dispatcher.batch {
        dispatcher.dispatch(.go, 3)
        dispatcher.dispatch(.go, 4)
      }
      dispatcher.dispatch(.go, 5)
    }
    dispatcher.dispatch(.go, 1)
    #expect(
      trace.lines == ["1", "told of 1", "2", "told of 2", "3", "4", "told of 4", "5", "told of 5"])
  }

  @Test func `a batch within an observer is queued whole`() throws {
    try observed()
    let probe = try dispatcher.store(Probe<A>.self)
    probe.observe(owner) { [dispatcher] store, _ in
      guard store.values == [1] else { return }
      dispatcher.batch {
        dispatcher.dispatch(.go, 2)
        dispatcher.dispatch(.go, 3)
      }
    }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["1", "told of 1", "2", "3", "told of 3"])
  }

  @Test func `a batch within a batch is part of it`() throws {
    try observed()
    dispatcher.batch {
      dispatcher.dispatch(.go, 1)
      dispatcher.batch { dispatcher.dispatch(.go, 2) }
      dispatcher.dispatch(.go, 3)
    }
    #expect(trace.lines == ["1", "2", "3", "told of 3"])
  }

  @Test func `a batch whose body throws handles nothing, and the next dispatch works`() throws {
    try observed()
    #expect(throws: Refused.self) {
      try dispatcher.batch {
        dispatcher.dispatch(.go, 1)
        throw Refused()
      }
    }
    #expect(trace.lines == [])
    dispatcher.dispatch(.go, 2)
    #expect(trace.lines == ["2", "told of 1"])
  }

  @Test func `a batch without actions notifies at its end of a store that its body changed`() throws {
    try observed()
    dispatcher.batch {}
    let probe = try dispatcher.store(Probe<A>.self)
    dispatcher.batch {
      probe.emitChange()
      probe.emitChange()
      trace.add("end of body")
    }
    #expect(trace.lines == ["end of body", "told of 0"])
  }

  @Test func `posted actions come before it`() async throws {
    try observed()
    dispatcher.post(.go, 1)
    dispatcher.batch { dispatcher.dispatch(.go, 2) }
    #expect(trace.lines == ["1", "told of 1", "2", "told of 2"])
  }

  @Test func `a batch during a replay is dropped, as any dispatch is`() throws {
    let recorder = ActionRecorder()
    dispatcher.use(recorder)
    try observed { [dispatcher] _, action in
      if action.payload == 1 { dispatcher.batch { dispatcher.dispatch(.go, 2) } }
    }
    dispatcher.dispatch(.go, 1)
    #expect(recorder.log.actions.count == 2)
    try dispatcher.replay(recorder.log)
    #expect(try dispatcher.store(Probe<A>.self).values == [1, 2, 1, 2])
  }

  @Test func `a batch in an endless chain is dropped and reported`() throws {
    let reports = Reports(of: dispatcher)
    try observed { [dispatcher] _, action in
      dispatcher.batch { dispatcher.dispatch(.go, (action.payload ?? 0) + 1) }
    }
    dispatcher.dispatch(.go, 0)
    #expect(try dispatcher.store(Probe<A>.self).values.count == Dispatcher.maximumDepth + 1)
    #expect(reports.errors.count == 1)
  }
}
