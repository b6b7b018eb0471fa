import ReactorFlux
import Testing

/// Back to any action, and on from there.
@MainActor @Suite struct Travelling {
  let dispatcher: Dispatcher
  let recorder = ActionRecorder(keepsSnapshots: true)

  init() throws {
    dispatcher = try .ofLedger()
    dispatcher.use(recorder)
  }

  private func add(_ amounts: Int...) {
    for amount in amounts { dispatcher.dispatch(.added, Entry(title: "\(amount)", amounts: [amount])) }
  }

  @Test func `travelling to a position restores its state`() throws {
    add(1, 2, 3)
    for (position, total) in [(3, 6), (0, 0), (2, 3), (1, 1), (3, 6)] {
      try recorder.travel(to: position, in: dispatcher)
      #expect(recorder.position == position)
      #expect(try dispatcher.total == total)
      #expect(try dispatcher.ledger.entries.count == position)
      #expect(recorder.log.actions.count == 3)
    }
  }

  @Test func `an action after travelling back removes the later actions of the log`() throws {
    add(1, 2, 3)
    try recorder.travel(to: 1, in: dispatcher)
    add(10)
    #expect(recorder.position == 2)
    #expect(recorder.log.actions.map { ($0.payload as? Entry)?.title } == ["1", "10"])
    #expect(try dispatcher.total == 11)
    expect(.noSuchPosition(3, count: 2)) { try recorder.travel(to: 3, in: dispatcher) }
    try recorder.travel(to: 0, in: dispatcher)
    #expect(try dispatcher.total == 0)
    try recorder.travel(to: 2, in: dispatcher)
    #expect(try dispatcher.total == 11)
    let fresh = try Dispatcher.ofLedger()
    try fresh.replay(recorder.log)
    #expect(try fresh.ledger == dispatcher.ledger)
  }

  @Test func `travelling reaches each of the actions that a dispatch led to`() throws {
    let owner = Owner()
    try dispatcher.store(Balance.self).observe(owner) { [dispatcher] balance, _ in
      if balance.total > 5 { dispatcher.dispatch(.cleared) }
    }
    add(3, 4)
    #expect(recorder.log.actions.map(\.name) == ["added", "added", "cleared"])
    try recorder.travel(to: 1, in: dispatcher)
    #expect(try dispatcher.total == 3)
    try recorder.travel(to: 3, in: dispatcher)
    #expect(try dispatcher.total == 0)
  }

  @Test(arguments: [-1, 3, Int.max, Int.min])
  func `travelling to a position out of the log is an error, and changes nothing`(position: Int)
    throws
  {
    add(1, 2)
    expect(.noSuchPosition(position, count: 2)) { try recorder.travel(to: position, in: dispatcher) }
    #expect(recorder.position == 2)
    #expect(try dispatcher.total == 3)
  }

  @Test func `travelling without snapshots, or before anything was recorded, is an error`() throws {
    expect(.noSuchPosition(0, count: 0)) { try recorder.travel(to: 0, in: dispatcher) }
    let plain = ActionRecorder()
    dispatcher.use(plain)
    add(1)
    expect(.noSuchPosition(0, count: 1)) { try plain.travel(to: 0, in: dispatcher) }
    #expect(plain.position == 1)
  }

  @Test func `travelling within a handler is refused, and the position stays`() throws {
    let recorder = recorder
    _ = try dispatcher.probe(A.self) { [dispatcher] _, _ in expect(.busy) { try recorder.travel(to: 0, in: dispatcher) }
    }
    add(1)
    dispatcher.dispatch(.go, 1)
    #expect(recorder.position == 2)
    #expect(try dispatcher.total == 1)
  }

  @Test func `removing all actions begins the log again at the present state`() throws {
    add(1, 2)
    recorder.removeAll()
    #expect(recorder.position == 0)
    #expect(recorder.log.actions.isEmpty)
    add(3)
    try recorder.travel(to: 0, in: dispatcher)
    #expect(try dispatcher.total == 3)
  }

  @Test func `removing all actions within a handler begins the log again too`() throws {
    let recorder = recorder
    _ = try dispatcher.probe(A.self) { _, _ in recorder.removeAll() }
    add(1)
    dispatcher.dispatch(.go, 1)
    add(2)
    #expect(recorder.log.actions.count == 1)
    try recorder.travel(to: 0, in: dispatcher)
    #expect(try dispatcher.total == 1)
    try recorder.travel(to: 1, in: dispatcher)
    #expect(try dispatcher.total == 3)
  }

  @Test func `travelling notifies each store's observers once, after all stores are set`() throws {
    add(1, 2)
    let (trace, owner) = (Trace(), Owner())
    dispatcher.observe(owner) { [dispatcher] store, error in
      #expect(error == nil)
      let state = (try? "\(dispatcher.total) \(dispatcher.ledger.entries.count)") ?? ""
      trace.add("\(type(of: store)) \(state)")
    }
    try recorder.travel(to: 1, in: dispatcher)
    #expect(trace.lines == ["Balance 1 1", "Ledger 1 1"])
  }

  @Test func `travelling drops the actions that observers dispatch`() throws {
    add(1, 2)
    let owner = Owner()
    var isTravelling = true
    try dispatcher.store(Balance.self).observe(owner) { [dispatcher] _, _ in
      if isTravelling { dispatcher.dispatch(.noted, "seen") }
      isTravelling = false
    }
    try recorder.travel(to: 1, in: dispatcher)
    #expect(try dispatcher.ledger.lines == ["added"])
    #expect(try dispatcher.total == 1)
    #expect(recorder.position == 1)
    #expect(recorder.log.actions.count == 2)
    dispatcher.dispatch(.noted, "after")
    #expect(try dispatcher.ledger.lines == ["added", "after"])
    #expect(recorder.log.actions.map(\.name) == ["added", "noted"])
  }
}

/// The state of a dispatcher's stores as a value.
@MainActor @Suite struct Snapshots {
  @Test func `snapshots leave stores unchanged that have no entry in them, or came later`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Balance.self)
    let plain = try dispatcher.probe(A.self)
    let before = dispatcher.capture()
    try dispatcher.register(Ledger.self)
    dispatcher.dispatch(.go, 1)
    dispatcher.dispatch(.added, Entry(title: "", amounts: [1]))
    try dispatcher.restore(before)
    #expect(try dispatcher.total == 0)
    #expect(plain.values == [1])
    #expect(try dispatcher.ledger.entries.count == 1)
  }

  @Test func `snapshots go into another dispatcher with stores of those types`() throws {
    let dispatcher = try Dispatcher.ofLedger()
    dispatcher.dispatch(.added, Entry(title: "", amounts: [7]))
    let other = Dispatcher()
    try other.register(Balance.self)
    try other.restore(dispatcher.capture())
    #expect(try other.total == 7)
  }
}
