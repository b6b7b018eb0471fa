import Foundation
import ReactorFlux
import Testing

/// A log into a fresh dispatcher.
@MainActor @Suite struct Replaying {
  @Test(arguments: 1...4) func `a random sequence gives the same stores, also once written and read`(seed: UInt64)
    throws
  {
    let dispatcher = try Dispatcher.ofLedger()
    let recorder = ActionRecorder()
    dispatcher.use(recorder)
    let owner = Owner()
    try Self.answer(dispatcher, owner)
    var random = SplitMix(state: seed)
    for _ in 1...500 { Self.dispatchAny(dispatcher, &random) }
    #expect(recorder.log.actions.count > 600)

    let fresh = try Dispatcher.ofLedger()
    try Self.answer(fresh, owner)
    let decoder = JSONDecoder()
    decoder.userInfo = fresh.decodingInfo
    try fresh.replay(decoder.decode(ActionLog.self, from: JSONEncoder().encode(recorder.log)))
    #expect(try fresh.ledger == dispatcher.ledger)
    #expect(try fresh.total == dispatcher.total)
    #expect(!fresh.isReplaying)
  }

  /// A handler and an observer that dispatch, as an app's do.
  private static func answer(_ dispatcher: Dispatcher, _ owner: Owner) throws {
    try dispatcher.register(Answering.self) { Answering { [weak dispatcher] in dispatcher?.dispatch(.noted, "over") } }
    try dispatcher.store(Balance.self).observe(owner) { [weak dispatcher] balance, _ in
      if balance.total > 200 { dispatcher?.dispatch(.cleared) }
    }
  }

  private static func dispatchAny(_ dispatcher: Dispatcher, _ random: inout SplitMix) {
    let number = Int.random(in: 0..<100, using: &random)
    switch number % 6 {
    case 0: dispatcher.dispatch(.noted, number % 4 == 0 ? nil : "note \(number)")
    case 1: dispatcher.dispatch(.added, error: Refused())
    case 2 where number > 80: dispatcher.dispatch(.cleared)
    default: dispatcher.dispatch(.added, Entry(title: "\(number)", amounts: [number, -number / 3]))
    }
  }

  @Test func `a replay notifies observers after each action, without the middlewares`() throws {
    let log = try Self.log { dispatcher in
      dispatcher.dispatch(.noted, "one")
      dispatcher.dispatch(.noted, "two")
    }
    let fresh = try Dispatcher.ofLedger()
    let (trace, owner) = (Trace(), Owner())
    try fresh.store(Ledger.self).observe(owner) { store, _ in trace.add("\(store.state.lines)") }
    fresh.use { _, _ in trace.add("middleware") }
    try fresh.replay(log)
    #expect(trace.lines == [#"["one"]"#, #"["one", "two"]"#])
  }

  @Test func `a replay drops the actions that handlers and observers dispatch`() throws {
    let log = try Self.log { $0.dispatch(.noted, "one") }
    let fresh = try Dispatcher.ofLedger()
    let owner = Owner()
    var replaying: [Bool] = []
    try fresh.store(Ledger.self).observe(owner) { [weak fresh] _, _ in
      replaying.append(fresh?.isReplaying ?? false)
      fresh?.dispatch(.cleared)
    }
    try fresh.replay(log)
    #expect(try fresh.ledger.lines == ["one"])
    #expect(replaying == [true])
    fresh.dispatch(.cleared)
    #expect(replaying.prefix(2) == [true, false])
  }

  @Test func `a replay keeps dropping after an observer has tried to restore a state`() throws {
    let log = try Self.log {
      $0.dispatch(.noted, "one")
      $0.dispatch(.noted, "two")
    }
    let fresh = try Dispatcher.ofLedger()
    let owner = Owner()
    var replaying: [Bool] = []
    try fresh.store(Ledger.self).observe(owner) { [weak fresh] _, _ in
      guard let fresh else { return }
      let state = fresh.capture()
      expect(.busy) { try fresh.restore(state) }
      replaying.append(fresh.isReplaying)
      fresh.dispatch(.cleared)
    }
    try fresh.replay(log)
    #expect(replaying == [true, true])
    #expect(try fresh.ledger.lines == ["one", "two"])
    #expect(!fresh.isReplaying)
  }

  @Test func `replaying a log that needs a missing store does nothing`() throws {
    let log = try Self.log { $0.dispatch(.noted, "one") }
    let fresh = Dispatcher()
    try fresh.register(Ledger.self)
    expect(.missingStores([name(Balance.self)])) { try fresh.replay(log) }
    #expect(try fresh.ledger.lines == [])
    #expect(!fresh.isReplaying)
    try fresh.register(Balance.self)
    try fresh.replay(log)
    #expect(try fresh.ledger.lines == ["one"])
  }

  @Test func `an event with another payload does nothing at all`() throws {
    let recorder = ActionRecorder()
    let dispatcher = Dispatcher()
    dispatcher.use(recorder)
    dispatcher.dispatch(.noted, "one")
    dispatcher.dispatch(Event<Int>("added"), 1)
    let fresh = try Dispatcher.ofLedger()
    expect(.conflictingPayloads(event: "added", known: name(Entry.self), other: "Swift.Int")) {
      try fresh.replay(recorder.log)
    }
    #expect(try fresh.ledger.lines == [])
  }

  @Test func `a replay within a handler or an observer is refused`() throws {
    let log = try Self.log { $0.dispatch(.noted, "one") }
    let fresh = try Dispatcher.ofLedger()
    let owner = Owner()
    var tries = 0
    let attempt = { [weak fresh] in
      tries += 1
      guard let fresh else { return }
      expect(.busy) { try fresh.replay(log) }
      let state = fresh.capture()
      expect(.busy) { try fresh.restore(state) }
    }
    _ = try fresh.probe(A.self) { store, _ in
      attempt()
      store.emitChange()
    }
    try fresh.store(Probe<A>.self).observe(owner) { _, _ in attempt() }
    fresh.use { action, next in
      attempt()
      next(action)
    }
    fresh.dispatch(.go, 1)
    #expect(tries == 3)
    try fresh.store(Probe<A>.self).emitChange()
    #expect(tries == 4)
    try fresh.replay(log)
    #expect(try fresh.ledger.lines == ["one"])
  }

  @Test func `a replay continues after a handler that fails, and reports it`() throws {
    let log = try Self.log { dispatcher in
      dispatcher.dispatch(.go, 1)
      dispatcher.dispatch(.noted, "one")
    }
    let fresh = try Dispatcher.ofLedger()
    _ = try fresh.probe(A.self) { _, _ in throw Refused() }
    let reports = Reports(of: fresh)
    try fresh.replay(log)
    #expect(reports.errors.count == 1)
    #expect(try fresh.ledger.lines == ["one"])
  }

  private static func log(_ body: (Dispatcher) -> Void) throws -> ActionLog {
    let dispatcher = try Dispatcher.ofLedger()
    let recorder = ActionRecorder()
    dispatcher.use(recorder)
    body(dispatcher)
    return recorder.log
  }
}

/// Calls `answer` when an entry is large.
private final class Answering: Store {
  let context = StoreContext()
  private let answer: @MainActor () -> Void
  static let handlers: [ActionHandler<Answering>] = [
    .on(.added) { store, action in if action.payload?.amounts.first ?? 0 > 50 { store.answer() } }
  ]

  init(answer: @escaping @MainActor () -> Void) { self.answer = answer }
}

struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
