import ReactorFlux
import ReactorTesting
import Testing

@MainActor @Suite("A test of stores") struct StoreTestTests {
  @Test func `the expected change of the expected store is no issue`() throws {
    let test = StoreTest(try dispatcher())
    test.dispatch(.renamed, "Ada") { $0.changes(Profile.self) { state in (state.name, state.renamings) = ("Ada", 1) } }
    test.dispatch(.renamed, "Bob") { $0.changes(Profile.self, where: { $0.snapshot.name == "Bob" }) }
    test.dispatch(.counted)
    test.dispatch(.renamed, error: Refused()) { $0.fails(Profile.self) }
  }

  @Test func `a change that is not expected is an issue`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("Profile changed, which was not expected") { test.dispatch(.renamed, "Ada") }
  }

  @Test func `a store that is expected to change and does not is an issue`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("Profile was expected to change, but emitted no change") {
      test.dispatch(.counted) { $0.changes(Profile.self) }
    }
  }

  @Test func `another value than expected is an issue that shows both`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("name: \"Ada\"") {
      test.dispatch(.renamed, "Ada") { $0.changes(Profile.self) { $0.name = "Eve" } }
    }
    expectIssue("does not meet its `where` condition") {
      test.dispatch(.renamed, "Ada") { $0.changes(Profile.self, where: { $0.snapshot.name == "Eve" }) }
    }
  }

  @Test func `a store that changes without a word is an issue`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("its snapshot differs, but it emitted no change") { test.dispatch(.renamedSilently, "Ada") }
  }

  @Test func `an unexpected error, and an expected one that does not come, are issues`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("changed with the error") {
      test.dispatch(.renamed, error: Refused()) { $0.changes(Profile.self) }
    }
    expectIssue("was expected to fail") { test.dispatch(.renamed, "Ada") { $0.fails(Profile.self) } }
  }

  @Test func `a handler that fails is an issue, unless it is expected to`() throws {
    let test = StoreTest(try dispatcher())
    expectIssue("an unexpected error was reported") { test.dispatch(.broken) }
    test.dispatch(.broken) {
      $0.reports { error in
        guard case .handlerFailed(_, "broken", is Refused) = error else { return false }
        return true
      }
    }
    expectIssue("an expected failure was not reported") { test.dispatch(.counted) { $0.reports { _ in true } } }
  }

  @Test func `the consequences of an action belong to it`() throws {
    let dispatcher = try dispatcher()
    try dispatcher.store(Profile.self).observe(dispatcher) { _, _ in dispatcher.dispatch(.shown) }
    let test = StoreTest(dispatcher)
    test.dispatch(.renamed, "Ada") {
      $0.changes(Profile.self)
      $0.changes(Screen.self, where: { $0.shown == 1 })
    }
  }

  @Test func `a change between two dispatches is an issue`() throws {
    let dispatcher = try dispatcher()
    let test = StoreTest(dispatcher)
    dispatcher.dispatch(.renamed, "Ada")
    expectIssue("between dispatches: Profile changed, which was not expected") { test.dispatch(.counted) }
    test.finish()
    dispatcher.dispatch(.shown)
    expectIssue("between dispatches: Screen changed") { test.finish() }
  }

  @Test func `an effect is one action, a value or an error`() async throws {
    let test = StoreTest(try dispatcher())
    await test.dispatch(
      .renamed, from: { "Ada" },
      expect: { $0.changes(Profile.self) { state in (state.name, state.renamings) = ("Ada", 1) } })
    await test.dispatch(.renamed, from: { throw Refused() }, expect: { $0.fails(Profile.self) })
    await test.dispatch(.renamed, from: { throw CancellationError() })
  }

  @Test func `an action that is expected must reach the stores, in the order of the expectations`() throws {
    let dispatcher = try dispatcher()
    try dispatcher.store(Profile.self).observe(dispatcher) { _, _ in dispatcher.dispatch(.shown) }
    let test = StoreTest(dispatcher, exhaustivity: .off)
    test.dispatch(.renamed, "Ada") {
      $0.receives(.renamed, where: { $0.payload == "Ada" })
      $0.receives(.shown)
    }
    expectIssue("\"renamed\" was expected, but the stores received nothing") {
      test.dispatch(.renamed, "Bob") {
        $0.receives(.shown)
        $0.receives(.renamed)
      }
    }
    expectIssue("\"renamed\" was expected, but the stores received \"renamed\", \"shown\"") {
      test.dispatch(.renamed, "Bob") { $0.receives(.renamed, where: { $0.payload == "Eve" }) }
    }
  }

  @Test func `a test that is not exhaustive ignores what is not named`() throws {
    let dispatcher = try dispatcher()
    try dispatcher.store(Profile.self).observe(dispatcher) { _, _ in dispatcher.dispatch(.shown) }
    let test = StoreTest(dispatcher, exhaustivity: .off)
    test.dispatch(.renamed, "Ada")
    test.dispatch(.renamed, "Bob") { $0.changes(Screen.self) }
    test.dispatch(.renamed, "Ada") { $0.changes(Profile.self) { $0.name = "Ada" } }
    test.dispatch(.broken)
    dispatcher.dispatch(.renamed, "Bob")
    test.finish()
    test.exhaustivity = .on
    expectIssue("Profile changed, which was not expected") {
      test.dispatch(.renamed, "Ada") { $0.changes(Screen.self) }
    }
  }

  @Test func `a test that is not exhaustive checks what is named`() throws {
    let test = StoreTest(try dispatcher(), exhaustivity: .off)
    expectIssue("Screen was expected to change, but emitted no change") {
      test.dispatch(.renamed, "Ada") { $0.changes(Screen.self) }
    }
    expectIssue("but State(name: \"Eve\"") {
      test.dispatch(.renamed, "Ada") { $0.changes(Profile.self) { $0.name = "Eve" } }
    }
    expectIssue("an expected failure was not reported") { test.dispatch(.counted) { $0.reports { _ in true } } }
  }

  @Test func `the changes of effects belong to them, and one that is still running is an issue`() async throws {
    let dispatcher = try dispatcher()
    let test = StoreTest(dispatcher)
    dispatcher.start(.renamed) { "Ada" }
    expectIssue("1 of the effects that were started are still running") { test.finish() }
    await test.effects { $0.changes(Profile.self) { state in (state.name, state.renamings) = ("Ada", 1) } }
    test.finish()
    dispatcher.start(.renamed) { "Bob" }
    test.exhaustivity = .off
    test.finish()
    dispatcher.cancelEffects()
    await test.effects()
  }

  private func dispatcher() throws -> Dispatcher {
    let dispatcher = Dispatcher()
    try dispatcher.register(Profile.self)
    try dispatcher.register(Screen.self)
    return dispatcher
  }

  /// `body` records one issue, which says `text`.
  private func expectIssue(_ text: String, _ body: () -> Void) {
    withKnownIssue {
      body()
    } matching: { issue in
      issue.comments.contains { $0.rawValue.contains(text) }
    }
  }
}

private struct Refused: Error {}

extension Event where Payload == String {
  fileprivate static var renamed: Event { Event("renamed") }
  fileprivate static var renamedSilently: Event { Event("renamedSilently") }
}

extension Event where Payload == Void {
  fileprivate static var counted: Event { Event("counted") }
  fileprivate static var broken: Event { Event("broken") }
  fileprivate static var shown: Event { Event("shown") }
}

private final class Profile: PlainStore, Snapshotting {
  struct State: Equatable {
    var name = ""
    var renamings = 0
  }

  let context = StoreContext()
  var snapshot = State()

  static let handlers: [ActionHandler<Profile>] = [
    .on(.renamed) { store, action in
      if let name = action.payload {
        store.snapshot.name = name
        store.snapshot.renamings += 1
      }
      store.emitChange(error: action.error)
    },
    .on(.renamedSilently) { store, action in store.snapshot.name = action.payload ?? "" },
    .on(.broken) { _, _ in throw Refused() },
  ]
}

private final class Screen: PlainStore {
  let context = StoreContext()
  private(set) var shown = 0

  static let handlers: [ActionHandler<Screen>] = [
    .on(.shown) { store, _ in
      store.shown += 1
      store.emitChange()
    }
  ]
}
