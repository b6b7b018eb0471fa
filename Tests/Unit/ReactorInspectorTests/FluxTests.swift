import ReactorCore
import ReactorFlux
import ReactorTesting
import TestSupport
import Testing

@testable import ReactorInspector

private final class Session: PlainStore {
  let context = StoreContext()
  private(set) var users: [String] = []
  static var handlers: [ActionHandler<Session>] {
    [
      .on(Event<String>("signedIn")) { store, action in
        store.users.append(action.payload ?? "-")
        store.emitChange(error: action.error)
      }
    ]
  }
}

private final class Selection: PlainStore {
  let context = StoreContext()
  static var handlers: [ActionHandler<Selection>] {
    [.on(Event<String>("signedIn")) { store, _ in store.emitChange() }]
  }
}

private struct Refused: Error {}

@Suite("A dispatcher that an inspector shows", .timeLimit(.minutes(5)))
@MainActor struct FluxTests {
  private func dispatcher() throws -> Dispatcher {
    let dispatcher = Dispatcher()
    try dispatcher.register(Session.self)
    try dispatcher.register(Selection.self)
    return dispatcher
  }

  @Test func `is seen as its actions, each before the changes that it led to`() async throws {
    let bench = Bench()
    let inspector = Inspector(bench)
    let dispatcher = try dispatcher()
    inspector.show(dispatcher)
    dispatcher.dispatch(Event<String>("signedIn"), "ann")
    dispatcher.dispatch(Event<String>("signedIn"), error: Refused())
    dispatcher.dispatch(Event<Void>("unknown"))
    var feed = await inspector.live()
    let frame = try await feed.frame()
    #expect(frame.hasFlux)
    let lines = frame.actions.map { "\($0.kind) \($0.name) \($0.payload ?? "-") \($0.error ?? "-")" }
    #expect(
      lines == [
        "action signedIn String -", "change Session - -", "change Selection - -", "action signedIn String Refused",
        "change Session - Refused", "change Selection - -", "action unknown () -",
      ])
    dispatcher.dispatch(Event<String>("signedIn"), "bob")
    #expect(try await feed.frame(after: bench.clock).actions.map(\.name) == ["signedIn", "Session", "Selection"])
  }

  @Test func `an action has the fields that it changed, and the values of those that are named`() async throws {
    let bench = Bench()
    let (named, hidden) = (Inspector(bench), Inspector(bench))
    let dispatcher = try dispatcher()
    named.show(dispatcher, values: .shown { $0 == "Session" && $1 == "users" })
    hidden.show(dispatcher)
    dispatcher.dispatch(Event<String>("signedIn"), "ann")
    var lines: [[String]] = []
    for inspector in [named, hidden] {
      var feed = await inspector.live()
      let actions = try await feed.frame().actions.filter { $0.kind == "action" }
      lines += actions.map { action in
        action.fields.map { "\($0.store) \($0.path) \($0.kind) \($0.before ?? "-") \($0.after ?? "-")" }
      }
    }
    #expect(lines == [["Session users[0] added - \"ann\""], ["Session users[0] added - -"]])
  }

  @Test func `a dispatcher that an inspector shows does what it does without one, in the same order`() throws {
    func run(_ body: (Dispatcher) -> Void) throws -> [String] {
      let dispatcher = try dispatcher()
      var lines: [String] = []
      dispatcher.use { action, next in
        lines.append("> \(action.name)")
        next(action)
        lines.append("< \(action.name)")
      }
      body(dispatcher)
      let owner = Bench()
      dispatcher.observe(owner) { [weak dispatcher] store, _ in
        lines.append("\(type(of: store))")
        if lines.count < 6 { dispatcher?.dispatch(Event<String>("signedIn"), "again") }
      }
      dispatcher.dispatch(Event<String>("signedIn"), "ann")
      return lines + (try dispatcher.store(Session.self).users)
    }
    let inspector = Inspector(Bench())
    #expect(try run { inspector.show($0) } == run { _ in })
  }

  @Test func `a dispatcher that an inspector shows continues when the inspector is gone`() throws {
    let dispatcher = try dispatcher()
    weak var recorder: Recorder?
    do {
      let inspector = Inspector(Bench())
      recorder = inspector.recorder
      inspector.show(dispatcher)
    }
    #expect(recorder == nil)
    dispatcher.dispatch(Event<String>("signedIn"), "ann")
    #expect(try dispatcher.store(Session.self).users == ["ann"])
  }

  @Test func `a dispatcher that an inspector shows is kept to its latest actions`() {
    var log = FluxLog()
    for number in 0..<700 { log.append(FluxLog.Entry(at: 0, kind: .action, name: "\(number)")) }
    #expect(log.since(0).count == FluxLog.entries)
    #expect(log.since(698).map(\.name) == ["698", "699"])
    #expect(log.since(700).isEmpty)
  }
}
