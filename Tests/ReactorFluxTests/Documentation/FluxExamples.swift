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

@MainActor @Suite("The page of ReactorFlux") struct FluxExamples {
  @Test func `an action changes the store that handles its event`() throws {
    let dispatcher = Dispatcher()
    try dispatcher.register(Session.self)
    dispatcher.dispatch(.signedIn, "Ada")
    let name = try dispatcher.store(Session.self).name
    #expect(name == "Ada")
  }
}
