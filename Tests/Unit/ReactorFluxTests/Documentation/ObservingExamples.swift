import ReactorFlux
import Testing

// The Swift code of the articles of ReactorFlux.docc, which a test compares with it.

enum Guide {
  final class Session: PlainStore, Snapshotting {
    let context = StoreContext()
    var snapshot: String?
    var user: String? { snapshot }

    static let handlers: [ActionHandler<Session>] = [.reduce(.signedIn) { user, action in user = action.payload }]
  }
}

extension Event where Payload == String {
  fileprivate static var filtered: Event { Event("filtered") }
  fileprivate static var taskAdded: Event { Event("taskAdded") }
  fileprivate static var typed: Event { Event("typed") }
}

extension Event where Payload == [String] {
  fileprivate static var found: Event { Event("found") }
}

extension Event where Payload == Int {
  fileprivate static var moved: Event { Event("moved") }
}

final class Tasks: PlainStore, Snapshotting {
  struct State: Equatable, Sendable {
    var items: [String] = []
    var filter = ""
  }

  let context = StoreContext()
  var snapshot = State()
  var items: [String] { snapshot.items }
  var filter: String { snapshot.filter }

  static let handlers: [ActionHandler<Tasks>] = [
    .reduce(.filtered) { state, action in state.filter = action.payload ?? "" },
    .reduce(.taskAdded) { state, action in state.items += [action.payload ?? ""] },
  ]
}

private final class Search: PlainStore {
  let context = StoreContext()
  private(set) var results: [String] = []

  static let handlers: [ActionHandler<Search>] = [
    .on(.typed) { store, action in
      let text = action.payload ?? ""
      try store.start(.found, id: "search") { try await search(text) }
    },
    .on(.found) { store, action in
      store.results = action.payload ?? []
      store.emitChange(error: action.error)
    },
  ]

  @Sendable private static func search(_ text: String) async throws -> [String] { [text] }
}

@MainActor private final class TaskScreen {
  typealias Session = Guide.Session
  var lines: [String] = []

  func show(_ line: String?) { lines.append(line ?? "nobody") }

  func show(_ items: [String]) { lines.append(items.joined(separator: ",")) }

  func appear(_ dispatcher: Dispatcher) throws {
    try dispatcher.register(Session.self, Tasks.self)
    try dispatcher.observe(self, Session.self, Tasks.self) { screen, session, tasks in
      screen.show("\(session.user ?? "nobody"): \(tasks.items.count)")
    }
    let session = try dispatcher.store(Session.self)
    session.observe(self, of: \.user) { screen, user in screen.show(user) }
    let tasks = try dispatcher.store(Tasks.self)
    let open = StoreSelector<Tasks, [String]>(\.items, \.filter) { items, filter in
      items.filter { $0.contains(filter) }
    }
    tasks.observe(self, of: { open($0) }) { screen, items in screen.show(items) }
  }

  func appearAgain(_ session: Session) {
    session.observe(self, of: \.user, id: "user") { screen, user in screen.show(user) }
  }
}

@MainActor @Suite("The articles of ReactorFlux") struct ObservingExamples {
  typealias Session = Guide.Session

  @Test func `a screen shows parts, a group and a derived value`() throws {
    let dispatcher = Dispatcher()
    let screen = TaskScreen()
    try screen.appear(dispatcher)
    #expect(screen.lines == ["nobody: 0", "nobody", ""])
    screen.lines = []
    dispatcher.dispatch(.signedIn, "Ada")
    dispatcher.dispatch(.taskAdded, "read")
    dispatcher.dispatch(.filtered, "w")
    dispatcher.dispatch(.filtered, "w")
    #expect(screen.lines == ["Ada", "Ada: 0", "read", "Ada: 1", "", "Ada: 1"])
    for _ in 1...2 { screen.appearAgain(try dispatcher.store(Session.self)) }
    screen.lines = []
    try dispatcher.reset(Session.self, Tasks.self)
    #expect(screen.lines == ["nobody", "nobody", "nobody: 0"])
  }

  @Test func `an effect is an action, and each element of a sequence is one`() async throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Search.self)
    dispatcher.dispatch(.typed, "a")
    dispatcher.dispatch(.typed, "ab")
    await dispatcher.effectsSettled()
    #expect(try dispatcher.store(Search.self).results == ["ab"])
    let (locations, input) = AsyncThrowingStream.makeStream(of: Int.self)
    input.finish()
    dispatcher.start(.moved, id: "location", each: locations)
    await dispatcher.effectsSettled()
  }

  @Test func `the differences of an action are printed`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Session.self, Tasks.self)
    var lines: [String] = []
    func print(_ difference: ActionDifference) { lines.append(difference.description) }
    dispatcher.use(DifferenceLogger(showing: .all) { difference in print(difference) })
    let visible = StateVisibility.shown { store, field in store == "Tasks" && field.hasPrefix("items") }
    dispatcher.use(DifferenceLogger(showing: visible) { difference in print(difference) })
    dispatcher.dispatch(.taskAdded, "Call Ada")
    dispatcher.dispatch(.signedIn, "Ada")
    let added = "taskAdded\n  Tasks.items[0]: + \"Call Ada\""
    #expect(lines == [added, added, "signedIn\n  Session added", "signedIn\n  Session: + \"Ada\""])
  }
}
