public import ReactorFlux

extension Event where Payload == User {
  static var signedIn: Event { Event("signedIn") }
}

extension Event where Payload == Void {
  static var signedOut: Event { Event("signedOut") }
}

/// The signed-in user.
public final class SessionStore: PlainStore {
  public let context = StoreContext()
  public private(set) var user: User?
  /// The error of the latest sign-in, if it failed.
  public private(set) var error: (any Error)?

  public init() {}

  public static let handlers: [ActionHandler<SessionStore>] = [
    .on(.signedIn) { store, action in
      store.user = action.payload ?? store.user
      store.error = action.error
      store.emitChange(error: action.error)
    },
    .on(.signedOut) { store, _ in
      store.user = nil
      store.error = nil
      store.emitChange()
    },
  ]
}
