import ReactorFlux
import Testing

// The Swift code of Documentation/MigratingFromJBFlux.md, which a test compares with it.

struct User: Sendable, Equatable {
  var name: String
}

struct Offline: Error {}

/// A model layer, whose method is in the document.
struct Layer: Sendable {
  var rename: @Sendable (String) async throws -> User
}

struct API: Sendable {
  var currentUser: @Sendable () async throws -> User
}

extension Event where Payload == User {
  static var currentUserRefreshed: Event { Event("currentUserRefreshed") }
}

extension Event where Payload == Void {
  static var signedOut: Event { Event("signedOut") }
}

extension Action where Payload == User {
  static func refreshed(_ user: User) -> Action { Action(.currentUserRefreshed, user) }
}

final class SessionStore: PlainStore {
  let context = StoreContext()
  private(set) var user: User?
  private(set) var error: (any Error)?

  static let handlers: [ActionHandler<SessionStore>] = [
    .on(.currentUserRefreshed) { store, action in
      store.user = action.payload ?? store.user
      store.error = action.error
      store.emitChange(error: action.error)
    },
    .on(.signedOut) { store, _ in
      store.user = nil
      store.emitChange()
    },
  ]
}

final class DraftStore: Store {
  let context = StoreContext()
  let limit: Int
  private(set) var author: String?

  init(limit: Int) { self.limit = limit }

  static let handlers: [ActionHandler<DraftStore>] = [
    .on(.currentUserRefreshed) { store, _ in
      try store.waitFor(SessionStore.self)
      store.author = try store.context.store(SessionStore.self).user?.name
      store.emitChange()
    }
  ]
}

@MainActor final class ProfileScreen {
  private(set) var title = ""

  func appear(_ session: SessionStore) {
    session.observe(self) { screen, session, error in
      screen.title = error == nil ? session.user?.name ?? "Sign in" : "Offline"
    }
  }
}

@MainActor @Suite("Migrating from JBFlux") struct JBFluxExamples {
  @Test func `the examples do what the page says`() async throws {
    let dispatcher = Dispatcher()
    try register(in: dispatcher)
    let session = try dispatcher.store(SessionStore.self)
    let drafts = try dispatcher.store(DraftStore.self)
    let screen = ProfileScreen()
    screen.appear(session)

    dispatcher.dispatch(.currentUserRefreshed, User(name: "Ada"))
    dispatcher.dispatch(.signedOut)
    #expect(screen.title == "Sign in" && drafts.author == "Ada")
    dispatcher.dispatch(.currentUserRefreshed, error: Offline())
    #expect(screen.title == "Offline")
    dispatcher.dispatch(.refreshed(User(name: "Ada")))
    #expect(screen.title == "Ada")

    let api = API { User(name: "Bob") }
    await dispatcher.dispatch(.currentUserRefreshed) { try await api.currentUser() }
    #expect(screen.title == "Bob")

    let layer = Layer { User(name: $0) }
    await dispatcher.dispatch(.currentUserRefreshed) { try await layer.rename("Ada") }
    #expect(screen.title == "Ada")
  }

  @Test func `changes end with the task that iterates them`() async throws {
    let dispatcher = Dispatcher()
    try register(in: dispatcher)
    let session = try dispatcher.store(SessionStore.self)
    let task = Task { await print(changesOf: session) }
    task.cancel()
    await task.value
  }

  private func print(changesOf session: SessionStore) async {
    for await change in session.changes {
      print(session.user?.name ?? "signed out", change.error.map { "\($0)" } ?? "")
    }
  }

  private func print(_ name: String, _ error: String) {}

  private func register(in dispatcher: Dispatcher) throws {
    try dispatcher.register(SessionStore.self)
    try dispatcher.register(DraftStore.self) { DraftStore(limit: 10) }
  }

  /// The program's own dispatcher keeps what is registered, so that a test has another.
  private func shared() throws {
    let dispatcher = Dispatcher.shared
    try dispatcher.register(SessionStore.self)
    try dispatcher.register(DraftStore.self) { DraftStore(limit: 10) }
    let session = try dispatcher.store(SessionStore.self)
    _ = session
  }
}
