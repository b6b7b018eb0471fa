public import ReactorFlux

extension Event where Payload == User {
  static var signedIn: Event { Event("signedIn") }
}

extension Event where Payload == Void {
  static var signedOut: Event { Event("signedOut") }
}

/// Who is signed in.
public final class SessionStore: PlainStore {
  public let context = StoreContext()
  public private(set) var user: User?

  public init() {}

  public static let handlers: [ActionHandler<SessionStore>] = [
    .on(.signedIn) { store, action in
      store.user = action.payload ?? store.user
      store.emitChange(error: action.error)
    },
    .on(.signedOut) { store, _ in
      store.user = nil
      store.emitChange()
    },
  ]
}
