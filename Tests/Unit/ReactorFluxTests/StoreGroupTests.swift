import Testing

@testable import ReactorFlux

/// Several stores with one call.
@MainActor @Suite struct `A group of stores` {
  let dispatcher = Dispatcher()
  let trace = Trace()
  let owner = Owner()

  @Test func `a group of stores is registered in its order, and each gets its actions`() throws {
    try dispatcher.register(Balance.self, Ledger.self, Appearance.self)
    #expect(
      dispatcher.stores.map { name(type(of: $0)) } == [name(Balance.self), name(Ledger.self), name(Appearance.self)])
    dispatcher.dispatch(.added, Entry(title: "", amounts: [3]))
    #expect(try dispatcher.total == 3)
  }

  @Test func `a group of stores of which one is refused is not registered at all`() throws {
    try dispatcher.register(Ledger.self)
    expect(.alreadyRegistered(store: name(Ledger.self))) {
      try dispatcher.register(Balance.self, Appearance.self, Ledger.self)
    }
    expect(.alreadyRegistered(store: name(Balance.self))) { try dispatcher.register(Balance.self, Balance.self) }
    expect(.conflictingPayloads(event: "added", known: name(Entry.self), other: name(String.self))) {
      try dispatcher.register(Balance.self, Conflicting.self)
    }
    #expect(dispatcher.stores.count == 1)
    let other = Dispatcher()
    expect(.conflictingPayloads(event: "added", known: name(Entry.self), other: name(String.self))) {
      try other.register(Balance.self, Conflicting.self)
    }
    #expect(other.stores.isEmpty)
  }

  @Test func `an observer of a group is called at once, and once for an action that changes several`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    try dispatcher.register(Appearance.self)
    try dispatcher.observe(owner, Ledger.self, Balance.self) { [trace, owner] given, ledger, balance in
      trace.add("\(ledger.state.entries.count) \(balance.total) \(given === owner)")
    }
    #expect(trace.lines == ["0 0 true"])
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1, 2]))
    dispatcher.dispatch(.noted, "one of them")
    dispatcher.dispatch(.themeChosen, "neither")
    #expect(trace.lines == ["0 0 true", "1 3 true", "1 3 true"])
  }

  @Test func `an ended observer of a group is released by the next change`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    weak var captured: Owner?
    let token: ChangeToken
    do {
      let kept = Owner()
      captured = kept
      token = try dispatcher.observe(owner, Ledger.self, Balance.self) { _, _, _ in _ = kept }
    }
    #expect(captured != nil)
    token.cancel()
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    #expect(captured == nil)
  }

  @Test func `an observer of a group is called after the observers of its stores`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    try dispatcher.observe(owner, Ledger.self, Balance.self, initially: false) { [trace] _, _, _ in trace.add("group") }
    try dispatcher.store(Ledger.self).observe(owner) { [trace] _, _ in trace.add("ledger") }
    dispatcher.observe(owner) { [trace] store, _ in trace.add("any \(type(of: store))") }
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    #expect(trace.lines == ["ledger", "any Ledger", "any Balance", "group"])
  }

  @Test func `an observation of a group is replaced by its id, cancelled by its token, and ends with its owner`() throws
  {
    let dispatcher = try Dispatcher.ofLedger()
    for name in ["old", "new"] {
      try dispatcher.observe(owner, Ledger.self, Balance.self, id: 1, initially: false) { [trace] _, _, _ in
        trace.add(name)
      }
    }
    let token = try dispatcher.observe(owner, Ledger.self, Balance.self, initially: false) { [trace] _, _, _ in
      trace.add("token")
    }
    var own: Owner? = Owner()
    if let own {
      try dispatcher.observe(own, Ledger.self, Balance.self, initially: false) { [trace] _, _, _ in trace.add("own") }
    }
    dispatcher.dispatch(.noted, "a")
    token.cancel()
    own = nil
    dispatcher.dispatch(.noted, "b")
    #expect(trace.lines == ["new", "token", "own", "new"])
  }

  @Test func `an observer of a group that changes it without end is stopped, and reported`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    let reports = Reports(of: dispatcher)
    try dispatcher.observe(owner, Ledger.self, Balance.self) { _, ledger, _ in ledger.emitChange() }
    #expect(reports.lines == [FluxError.changesWithoutEnd(store: name(Ledger.self)).description])
  }

  @Test func `a group with a store that is not registered cannot be observed`() throws {
    try dispatcher.register(Ledger.self)
    expect(.notRegistered(store: name(Balance.self))) {
      try dispatcher.observe(owner, Ledger.self, Balance.self) { _, _, _ in }
    }
  }

  @Test func `an observed group does not keep its dispatcher`() throws {
    weak var gone: Dispatcher?
    weak var store: Ledger?
    try {
      let dispatcher = try Dispatcher.ofLedger()
      try dispatcher.observe(owner, Ledger.self, Balance.self) { _, _, _ in }
      (gone, store) = (dispatcher, try dispatcher.store(Ledger.self))
    }()
    #expect(gone == nil && store == nil)
  }

  @Test func `a store waits for several others in their order`() throws {
    let first = try dispatcher.probe(A.self) { [trace] store, _ in
      try store.waitFor(Probe<C>.self, Probe<B>.self)
      trace.add("A")
    }
    _ = try dispatcher.probe(B.self, trace.line("B"))
    _ = try dispatcher.probe(C.self, trace.line("C"))
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["C 1", "B 1", "A"])
    expect(.nothingToWaitFor(store: name(Probe<A>.self))) { try first.waitFor(Probe<C>.self, Probe<B>.self) }
  }

  @Test func `a reset restores the state of the registration, and then notifies`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    try dispatcher.register(Appearance.self) {
      let store = Appearance()
      store.snapshot.theme = "dark"
      return store
    }
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    dispatcher.dispatch(.themeChosen, "light")
    dispatcher.observe(owner) { [trace, dispatcher] store, _ in
      trace.add("\(type(of: store)) \((try? dispatcher.total) ?? -1) \((try? dispatcher.ledger.entries.count) ?? -1)")
    }
    try dispatcher.reset(Balance.self, Ledger.self)
    #expect(trace.lines == ["Balance 0 0", "Ledger 0 0"])
    #expect(try dispatcher.store(Appearance.self).snapshot.theme == "light")
    try dispatcher.reset()
    #expect(try dispatcher.store(Appearance.self).snapshot.theme == "dark")
  }

  @Test func `a reset within a handler, and one of a store that is not registered, change nothing`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    _ = try dispatcher.probe(A.self) { [dispatcher] _, _ in expect(.busy) { try dispatcher.reset() } }
    dispatcher.dispatch(.go, 1)
    expect(.notRegistered(store: name(Appearance.self))) { try dispatcher.reset(Balance.self, Appearance.self) }
    #expect(try dispatcher.total == 1)
  }

  @Test func `an action that an observer of a reset dispatches is handled after it`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    try dispatcher.store(Balance.self).observe(owner) { [dispatcher] balance, _ in
      if balance.total == 0 { dispatcher.dispatch(.noted, "reset") }
    }
    try dispatcher.reset()
    #expect(try dispatcher.ledger.lines == ["reset"])
  }
}

private final class Conflicting: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Conflicting>] = [.on(Event<String>("added")) { _, _ in }]
}

/// A store that emits a change only if its state differs.
@MainActor @Suite struct `A store of an equatable state` {
  let dispatcher = Dispatcher()
  let trace = Trace()
  let owner = Owner()

  private func counter() throws -> Level {
    try dispatcher.register(Level.self)
    let counter = try dispatcher.store(Level.self)
    counter.observe(owner) { [trace] store, error in trace.add("\(store.snapshot) \(error is Refused)") }
    return counter
  }

  @Test func `an action that leaves the state equal emits nothing`() throws {
    _ = try counter()
    for value in [1, 1, 2, 2] { dispatcher.dispatch(.go, value) }
    #expect(trace.lines == ["1 false", "2 false"])
  }

  @Test func `an action with an error is emitted although the state is equal`() throws {
    _ = try counter()
    dispatcher.dispatch(.go, error: Refused())
    #expect(trace.lines == ["0 true"])
  }

  @Test func `a handler that throws leaves the state as it was, and emits nothing`() throws {
    let counter = try counter()
    let reports = Reports(of: dispatcher)
    dispatcher.dispatch(.go, -1)
    #expect(counter.snapshot == 0 && trace.lines == [])
    #expect(reports.lines == [FluxError.handlerFailed(store: name(Level.self), event: "go", Refused()).description])
  }

  @Test func `an update says whether it has changed something`() throws {
    let counter = try counter()
    #expect(counter.update { $0 += 1 })
    #expect(!counter.update { $0 = 1 })
    #expect(throws: Refused.self) { try counter.update { (_: inout Int) throws(Refused) in throw Refused() } }
    #expect(trace.lines == ["1 false"])
  }
}

private final class Level: PlainStore, Snapshotting {
  let context = StoreContext()
  var snapshot = 0

  static let handlers: [ActionHandler<Level>] = [
    .reduce(.go) { state, action in
      if action.payload == -1 {
        state = 100
        throw Refused()
      }
      state = action.payload ?? state
    }
  ]
}
