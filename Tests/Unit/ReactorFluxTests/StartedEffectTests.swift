import Testing

@testable import ReactorFlux

/// An effect that runs in a task of its own, and is cancelled by its id.
@MainActor @Suite(.timeLimit(.minutes(1))) struct `A started effect` {
  let dispatcher = Dispatcher()

  @Test func `a started effect dispatches its payload or its error as one action`() async throws {
    var lines: [String] = []
    _ = try dispatcher.probe(A.self) { lines.append("\($1.payload ?? 0) \($1.error is Refused)") }
    await dispatcher.start(.go) {
      MainActor.assertIsolated()
      return 5
    }.value
    await dispatcher.start(.go) { throw Refused() }.value
    await dispatcher.start(.go) { throw CancellationError() }.value
    #expect(lines == ["5 false", "0 true"])
    #expect(dispatcher.runningEffects == 0)
  }

  @Test(arguments: [Ending.value, .error])
  func `a start with the id of a running effect cancels it, and it dispatches nothing`(_ ending: Ending) async throws {
    let store = try dispatcher.probe(A.self)
    let gate = Gate()
    let first = dispatcher.start(.go, id: "search") {
      await gate.pass()
      // It ignores the cancellation.
      return try ending.end(1)
    }
    await gate.reached()
    let second = dispatcher.start(.go, id: "search") { 2 }
    #expect(first.isCancelled)
    gate.open()
    await first.value
    await second.value
    #expect(store.values == [2])
    #expect(dispatcher.runningEffects == 0)
  }

  @Test func `an effect that has ended dispatches nothing if it is cancelled before the main actor is free`()
    async throws
  {
    let store = try dispatcher.probe(A.self)
    let (gate, over) = (Gate(), Gate())
    let task = dispatcher.start(.go, id: 1) { try await Self.elsewhere(gate, over) }
    await gate.reached()
    gate.open()
    // The effect has returned, and this test holds the main actor.
    over.blockUntilReached()
    dispatcher.cancelEffect(id: 1)
    await task.value
    #expect(store.values == [])
  }

  @Test func `effects with other ids, without one and of other stores are not cancelled by it`() async throws {
    let store = try dispatcher.probe(A.self)
    let other = try dispatcher.probe(B.self)
    let gate = Gate()
    let tasks = [
      dispatcher.start(.go, id: 1) { await gate.pass(1) },
      dispatcher.start(.go, id: 2) { await gate.pass(2) },
      dispatcher.start(.go) { await gate.pass(3) },
      dispatcher.start(.go) { await gate.pass(4) },
      try store.start(.go, id: 1) { await gate.pass(5) },
      try other.start(.go, id: 1) { await gate.pass(6) },
    ]
    #expect(dispatcher.runningEffects == 6)
    dispatcher.cancelEffect(id: 2)
    store.cancelEffect(id: 1)
    #expect(dispatcher.runningEffects == 4)
    gate.open()
    for task in tasks { await task.value }
    #expect(store.values.sorted() == [1, 3, 4, 6])
  }

  @Test func `all effects are cancelled with one call`() async throws {
    let store = try dispatcher.probe(A.self)
    let gate = Gate()
    let tasks = [
      dispatcher.start(.go) { await gate.pass(1) }, try store.start(.go, id: 1) { await gate.pass(2) },
    ]
    dispatcher.cancelEffects()
    gate.open()
    for task in tasks { await task.value }
    #expect(store.values == [] && dispatcher.runningEffects == 0)
  }

  @Test func `an effect is cancelled when its dispatcher is released, which it does not retain`() async throws {
    let gate = Gate()
    weak var gone: Dispatcher?
    var tasks: [Task<Void, Never>] = []
    try {
      let dispatcher = Dispatcher()
      gone = dispatcher
      let store = try dispatcher.probe(A.self)
      tasks = [
        dispatcher.start(.go) { await gate.pass(1) },
        try store.start(.go, id: 1) { await gate.pass(2) },
      ]
    }()
    #expect(gone == nil)
    #expect(tasks.allSatisfy { $0.isCancelled })
    gate.open()
    for task in tasks { await task.value }
  }

  @Test func `an effect that is cancelled by its task dispatches nothing`() async throws {
    let store = try dispatcher.probe(A.self)
    let gate = Gate()
    let task = dispatcher.start(.go) { await gate.pass(1) }
    task.cancel()
    gate.open()
    await task.value
    #expect(store.values == [] && dispatcher.runningEffects == 0)
  }

  @Test func `the handler of an effect's action may start the next one with its id`() async throws {
    var next: Task<Void, Never>?
    let store = try dispatcher.probe(A.self) { store, action in
      #expect(!Task.isCancelled)
      if action.payload == 1 { next = try store.start(.go, id: 1) { 2 } }
    }
    let first = try store.start(.go, id: 1) { 1 }
    await first.value
    await next?.value
    #expect(store.values == [1, 2])
    #expect(!first.isCancelled && dispatcher.runningEffects == 0)
  }

  @Test func `each element of a sequence is an action, and its error the last one`() async throws {
    var lines: [String] = []
    _ = try dispatcher.probe(A.self) { lines.append("\($1.payload ?? 0) \($1.error is Refused)") }
    let (numbers, input) = AsyncThrowingStream.makeStream(of: Int.self)
    input.yield(1)
    input.yield(2)
    input.finish(throwing: Refused())
    await dispatcher.start(.go, each: numbers).value
    #expect(lines == ["1 false", "2 false", "0 true"])
    #expect(dispatcher.runningEffects == 0)
  }

  @Test func `a sequence that is cancelled by its id dispatches no further element`() async throws {
    let dispatcher = dispatcher
    let store = try dispatcher.probe(A.self) { store, _ in store.cancelEffect(id: 1) }
    let (numbers, input) = AsyncThrowingStream.makeStream(of: Int.self)
    for number in 1...3 { input.yield(number) }
    await (try store.start(.go, id: 1, each: numbers)).value
    #expect(store.values == [1])
  }

  @Test func `a replay starts no effect`() async throws {
    var task: Task<Void, Never>?
    let store = try dispatcher.probe(A.self) { store, action in
      if action.payload == 1 { task = try store.start(.go) { 2 } }
    }
    var log = ActionLog()
    log.actions = [AnyAction(Action(.go, 1)), AnyAction(Action(.go, 2))]
    try dispatcher.replay(log)
    await task?.value
    #expect(store.values == [1, 2])
  }

  @Test func `an observer of a restored state starts its effects`() async throws {
    let (dispatcher, owner) = (try Dispatcher.ofLedger(), Owner())
    let saved = try dispatcher.store(Ledger.self).snapshot
    let probe = try dispatcher.probe(A.self)
    var task: Task<Void, Never>?
    try dispatcher.store(Ledger.self).observe(owner) { [dispatcher] _, _ in task = dispatcher.start(.go) { 7 } }
    try dispatcher.restore(Ledger.self, to: saved)
    await task?.value
    #expect(probe.values == [7])
  }

  @Test func `a reset handles what was posted before, and cancels the effects`() async throws {
    let dispatcher = try Dispatcher.ofLedger()
    let (probe, gate) = (try dispatcher.probe(A.self), Gate())
    let effect = dispatcher.start(.go, id: "search") {
      await gate.pass()
      return 1
    }
    await gate.reached()
    dispatcher.post(.added, Entry(title: "", amounts: [5]))
    try dispatcher.reset()
    #expect(try dispatcher.total == 0)
    gate.open()
    await effect.value
    for _ in 1...3 { await Task.yield() }
    #expect(probe.values.isEmpty)
    #expect(try dispatcher.total == 0)
    #expect(dispatcher.runningEffects == 0)
  }

  @Test func `a store without a dispatcher starts nothing`() {
    expect(.notRegistered(store: name(Probe<A>.self))) { _ = try Probe<A>().start(.go) { 1 } }
  }

  enum Ending: Sendable {
    case value, error

    func end(_ value: Int) throws -> Int { if self == .value { value } else { throw Refused() } }
  }

  @concurrent private nonisolated static func elsewhere(_ gate: Gate, _ over: Gate) async throws -> Int {
    await gate.pass()
    defer { over.reach() }
    return 1
  }
}
