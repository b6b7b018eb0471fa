/// State that the app owns, with the table of what changes it.
///
/// ```swift
/// final class SessionStore: PlainStore {
///   let context = StoreContext()
///   private(set) var user: User?
///
///   static let handlers: [ActionHandler<SessionStore>] = [
///     .on(.userLoaded) { store, action in
///       store.user = action.payload
///       store.emitChange(error: action.error)
///     }
///   ]
/// }
/// ```
///
/// A store is a final class. Its ``Dispatcher`` makes it, keeps it, and calls its handlers; whoever else uses it reads.
@MainActor public protocol Store: AnyObject {
  /// The store's own, made with it: `let context = StoreContext()`.
  var context: StoreContext { get }
  /// What the store does about which event. Asked once, when the store is registered.
  static var handlers: [ActionHandler<Self>] { get }
}

/// A store that needs nothing to be made.
@MainActor public protocol PlainStore: Store {
  init()
}
