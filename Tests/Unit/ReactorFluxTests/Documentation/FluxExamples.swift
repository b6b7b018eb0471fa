import Foundation
import ReactorFlux
import Testing

// The Swift code of ReactorFlux.docc, which a test compares with it.

extension Event where Payload == String {
  static var signedIn: Event { Event("signedIn") }
}

final class Session: PlainStore {
  let context = StoreContext()
  private(set) var name: String?

  static let handlers: [ActionHandler<Session>] = [
    .on(.signedIn) { session, action in
      session.name = action.payload
      session.emitChange(error: action.error)
    }
  ]
}

extension Event where Payload == String {
  static var themeChosen: Event { Event("themeChosen") }
}

final class Appearance: PlainStore, Snapshotting {
  struct State: Codable, Sendable {
    var theme = ""
  }

  let context = StoreContext()
  var snapshot = State()

  static let handlers: [ActionHandler<Appearance>] = [
    .on(.themeChosen) { store, action in
      store.snapshot.theme = action.payload ?? ""
      store.emitChange(error: action.error)
    }
  ]
}

@MainActor @Suite("The page of ReactorFlux") struct FluxExamples {
  @Test func `an action changes the store that handles its event`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Session.self)
    dispatcher.dispatch(.signedIn, "Ada")
    let name = try dispatcher.store(Session.self).name
    #expect(name == "Ada")
  }

  @Test func `a batch is one change, and the state survives`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "reactor-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    for theme in ["", "dark"] {
      let dispatcher = Dispatcher()
      try dispatcher.register(Session.self)
      let persistence = StorePersistence(
        directory: directory.path(percentEncoded: false),
        encode: { try JSONEncoder().encode($0) },
        decode: { try JSONDecoder().decode($0, from: Data($1)) })
      try dispatcher.register(Appearance.self)
      try dispatcher.persist(Appearance.self, as: "appearance", version: 2, with: persistence) { version, state in
        Appearance.State(theme: String(decoding: state, as: UTF8.self))
      }
      #expect(try dispatcher.store(Appearance.self).snapshot.theme == theme)
      dispatcher.batch {
        dispatcher.dispatch(.signedIn, "Ada")
        dispatcher.dispatch(.themeChosen, "dark")
      }
      await persistence.flush()
    }
  }
}
