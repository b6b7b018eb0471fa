/// State that the app owns, with a table of its event handlers.
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
/// A store is a final class. Its ``Dispatcher`` creates it, retains it and calls its handlers. All
/// other code only reads it.
@MainActor public protocol Store: AnyObject {
  /// The store's context, created with the store: `let context = StoreContext()`.
  var context: StoreContext { get }
  /// The store's handlers, by event. Read when the store is registered.
  static var handlers: [ActionHandler<Self>] { get }
}

/// A store that is created without arguments.
@MainActor public protocol PlainStore: Store {
  /// Creates the store in its initial state. ``Dispatcher/register(_:)`` calls it.
  init()
}
