import ReactorFlux
import Testing

/// Registering stores with a dispatcher, finding them there, and their end.
@MainActor @Suite struct Registering {
  let dispatcher = Dispatcher()

  @Test func `a plain store is made by the dispatcher, and is the same at each look`() throws {
    try dispatcher.register(Counter.self)
    let store = try dispatcher.store(Counter.self)
    #expect(try dispatcher.store(Counter.self) === store)
    dispatcher.dispatch(.go, 3)
    #expect(store.sum == 3)
  }

  @Test func `a store that needs something is made by the closure, once`() throws {
    var made: [Probe<A>] = []
    try dispatcher.register(Probe<A>.self) {
      made.append(Probe())
      return made[0]
    }
    #expect(made.count == 1)
    #expect(try dispatcher.store(Probe<A>.self) === made.first)
  }

  @Test func `a store that was not registered is not found`() {
    expect(.notRegistered(store: name(Counter.self))) { _ = try dispatcher.store(Counter.self) }
  }

  @Test func `the same type twice is refused, and the first stays`() throws {
    try dispatcher.register(Counter.self)
    let first = try dispatcher.store(Counter.self)
    expect(.alreadyRegistered(store: name(Counter.self))) { try dispatcher.register(Counter.self) }
    expect(.alreadyRegistered(store: name(Counter.self))) {
      try dispatcher.register(Counter.self) {
        Issue.record("made, though it is refused")
        return Counter()
      }
    }
    #expect(try dispatcher.store(Counter.self) === first)
    dispatcher.dispatch(.go, 1)
    #expect(first.sum == 1)
  }

  @Test func `several dispatchers and the shared one live side by side`() throws {
    let other = Dispatcher()
    try dispatcher.register(Counter.self)
    try other.register(Counter.self)
    try Dispatcher.shared.register(OnlyShared.self)
    dispatcher.dispatch(.go, 1)
    other.dispatch(.go, 10)
    Dispatcher.shared.dispatch(.go, 100)
    #expect(try dispatcher.store(Counter.self).sum == 1)
    #expect(try other.store(Counter.self).sum == 10)
    #expect(try Dispatcher.shared.store(OnlyShared.self).sum == 100)
    expect(.notRegistered(store: name(OnlyShared.self))) { _ = try dispatcher.store(OnlyShared.self) }
  }

  @Test func `a store lives as long as its dispatcher, whatever observes it`() throws {
    weak var store: Counter?
    weak var gone: Dispatcher?
    // On the main actor: an optimized build refuses to send anything else into the observers.
    let (owner, trace) = (Owner(), Trace())
    try {
      let dispatcher = Dispatcher()
      try dispatcher.register(Counter.self)
      store = try dispatcher.store(Counter.self)
      gone = dispatcher
      store?.observe(owner) { _, _ in trace.add("store") }
      store?.observe(owner, with: { _, _, _ in trace.add("owner") })
      dispatcher.observe(owner) { _, _ in trace.add("dispatcher") }
      _ = store?.changes
      dispatcher.use(ActionRecorder(keepsSnapshots: true))
      dispatcher.use { $1($0) }
      dispatcher.dispatch(.go, 1)
      #expect(store != nil)
    }()
    #expect(trace.lines.count == 3)
    #expect(gone == nil)
    #expect(store == nil)
  }

  @Test func `a store that outlives its dispatcher still notifies its observers`() throws {
    var dispatcher: Dispatcher? = Dispatcher()
    let store = try #require(try dispatcher?.probe(A.self))
    let owner = Owner()
    var told = 0
    store.observe(owner) { store, _ in
      told += 1
      if told == 1 { store.emitChange() }
    }
    dispatcher = nil
    store.emitChange()
    #expect(told == 2)
    expect(.nothingToWaitFor(store: name(Probe<A>.self))) { try store.waitFor(Counter.self) }
  }

  @Test func `make may register other stores, which come before its own`() throws {
    let trace = Trace()
    try dispatcher.register(Probe<A>.self) {
      _ = try? dispatcher.probe(B.self, trace.line("B"))
      return Probe(trace.line("A"))
    }
    dispatcher.dispatch(.go, 1)
    #expect(trace.lines == ["B 1", "A 1"])
  }

  @Test func `a make that registers its own type is refused, with its store`() throws {
    expect(.alreadyRegistered(store: name(Counter.self))) {
      try dispatcher.register(Counter.self) {
        try? dispatcher.register(Counter.self)
        return Counter()
      }
    }
    dispatcher.dispatch(.go, 1)
    #expect(try dispatcher.store(Counter.self).sum == 1)
  }

  @Test func `the closure that makes a store may dispatch`() throws {
    let first = try dispatcher.probe(A.self)
    try dispatcher.register(Probe<B>.self) {
      dispatcher.dispatch(.go, 1)
      return Probe()
    }
    #expect(first.values == [1])
    #expect(try dispatcher.store(Probe<B>.self).values == [])
  }

  @Test func `one object, or one context, belongs to one dispatcher only`() throws {
    let store = try dispatcher.probe(A.self)
    let other = Dispatcher()
    expect(.contextInUse(store: name(Probe<A>.self))) { try other.register(Probe<A>.self) { store } }
    expect(.notRegistered(store: name(Probe<A>.self))) { _ = try other.store(Probe<A>.self) }
    expect(.contextInUse(store: name(Borrower.self))) {
      try dispatcher.register(Borrower.self) { Borrower(context: store.context) }
    }
    expect(.notRegistered(store: name(Borrower.self))) { _ = try dispatcher.store(Borrower.self) }
    other.dispatch(.go, 1)
    #expect(store.values == [])
    dispatcher.dispatch(.go, 2)
    #expect(store.values == [2])
  }

  @Test func `a store that emits while it is made disturbs nothing`() throws {
    try dispatcher.register(Eager.self)
    let owner = Owner()
    var told = 0
    try dispatcher.store(Eager.self).observe(owner) { _, _ in told += 1 }
    dispatcher.dispatch(.go, 1)
    #expect(told == 1)
  }

  @Test func `a store that a handler registers begins with the next action, also where it is waited for`() throws {
    let late = Trace()
    _ = try dispatcher.probe(A.self) { store, _ in
      guard store.values.count == 1 else { return }
      _ = try dispatcher.probe(B.self, late.line("B"))
      try store.waitFor(Probe<B>.self)
    }
    dispatcher.dispatch(.go, 1)
    #expect(late.lines == [])
    dispatcher.dispatch(.go, 2)
    #expect(late.lines == ["B 2"])
  }
}

/// An event's name belongs to one type of payload.
@MainActor @Suite struct `Events of one name` {
  let dispatcher = Dispatcher()

  @Test func `events of one name with two payloads across stores are refused, naming both`() throws {
    try dispatcher.register(Counter.self)
    expect(.conflictingPayloads(event: "go", known: "Swift.Int", other: "Swift.String")) {
      try dispatcher.register(Conflicting.self) {
        Issue.record("made, though it is refused")
        return Conflicting()
      }
    }
    expect(.notRegistered(store: name(Conflicting.self))) { _ = try dispatcher.store(Conflicting.self) }
    // Its first handler, of an event without conflict, is not there either: another payload is free
    // to take the name.
    _ = try dispatcher.register(Free.self)
    dispatcher.dispatch(Event<Bool>("free"), true)
    #expect(try dispatcher.store(Free.self).values == [true])
  }

  @Test func `events of one name with two payloads within one store are refused`() {
    expect(.conflictingPayloads(event: "both", known: "Swift.Int", other: "Swift.Optional<Swift.Int>")) {
      try dispatcher.register(Undecided.self)
    }
  }

  @Test func `events of one name that make registers are refused too`() throws {
    expect(.conflictingPayloads(event: "go", known: "Swift.Int", other: "Swift.String")) {
      try dispatcher.register(Conflicting.self) {
        try? dispatcher.register(Counter.self)
        return Conflicting()
      }
    }
    #expect(try dispatcher.store(Counter.self).sum == 0)
  }

  @Test func `dispatched with another payload are reported, and no handler runs`() throws {
    let reports = Reports(of: dispatcher)
    try dispatcher.register(Counter.self)
    dispatcher.dispatch(Event<String>("go"), "1")
    dispatcher.dispatch(Event<String>("go"), error: Refused())
    let conflict = FluxError.conflictingPayloads(event: "go", known: "Swift.Int", other: "Swift.String")
    #expect(reports.lines == [conflict.description, conflict.description])
    dispatcher.dispatch(.go, 2)
    #expect(try dispatcher.store(Counter.self).sum == 2)
  }

  @Test func `an event without a name is refused when registered, and reported when dispatched`() throws {
    let reports = Reports(of: dispatcher)
    let error = FluxError.emptyName(payload: "Swift.Int")
    expect(error) { try dispatcher.register(Nameless.self) }
    expect(.notRegistered(store: name(Nameless.self))) { _ = try dispatcher.store(Nameless.self) }
    dispatcher.dispatch(Event<Int>(""), 1)
    #expect(reports.lines == [error.description])
  }

  @Test func `two handlers of one event in one store both run, in order`() throws {
    try dispatcher.register(Double.self)
    dispatcher.dispatch(.go, 1)
    #expect(try dispatcher.store(Double.self).lines == ["first", "second"])
  }
}

final class Counter: PlainStore {
  let context = StoreContext()
  private(set) var sum = 0

  static let handlers: [ActionHandler<Counter>] = [
    .on(.go) { store, action in
      store.sum += action.payload ?? 0
      store.emitChange(error: action.error)
    }
  ]
}

private final class OnlyShared: PlainStore {
  let context = StoreContext()
  private(set) var sum = 0

  static let handlers: [ActionHandler<OnlyShared>] = [.on(.go) { $0.sum += $1.payload ?? 0 }]
}

private final class Borrower: Store {
  let context: StoreContext
  static let handlers: [ActionHandler<Borrower>] = []

  init(context: StoreContext) { self.context = context }
}

private final class Eager: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Eager>] = [.on(.go) { store, _ in store.emitChange() }]

  init() { emitChange(error: Refused()) }
}

private final class Conflicting: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Conflicting>] = [
    .on(Event<Int>("free")) { _, _ in }, .on(Event<String>("go")) { _, _ in },
  ]
}

private final class Free: PlainStore {
  let context = StoreContext()
  private(set) var values: [Bool] = []
  static let handlers: [ActionHandler<Free>] = [.on(Event<Bool>("free")) { $0.values.append($1.payload ?? false) }]
}

private final class Undecided: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Undecided>] = [
    .on(Event<Int>("both")) { _, _ in }, .on(Event<Int?>("both")) { _, _ in },
  ]
}

private final class Nameless: PlainStore {
  let context = StoreContext()
  static let handlers: [ActionHandler<Nameless>] = [.on(Event<Int>("")) { _, _ in }]
}

private final class Double: PlainStore {
  let context = StoreContext()
  private(set) var lines: [String] = []
  static let handlers: [ActionHandler<Double>] = [
    .on(.go) { store, _ in store.lines.append("first") }, .on(.go) { store, _ in store.lines.append("second") },
  ]
}
