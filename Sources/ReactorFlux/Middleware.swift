/// A step that every action passes on its way to the stores, in the order in which middlewares were
/// added.
///
/// ```swift
/// dispatcher.use { action, next in
///   if isSignedIn || action.name == "signIn" { next(action) }
/// }
/// ```
@MainActor public protocol Middleware {
  /// Handles an action, and usually passes it on by calling `next`.
  ///
  /// - Parameters:
  ///   - action: The action, as the middlewares before left it.
  ///   - dispatcher: The dispatcher, for looking up stores. An action that is dispatched to it here
  ///     is handled after this one.
  ///   - next: The rest of the middlewares and the handlers. Call it within this call. Not calling
  ///     it drops the action, passing another action replaces it, and calling it again adds one.
  ///     When it returns, the handlers have run; observers have not been notified yet.
  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void)
}

extension Dispatcher {
  /// Adds a closure as a middleware; see ``Middleware/handle(_:in:next:)``.
  ///
  /// ```swift
  /// dispatcher.use { action, next in
  ///   print("before", action.name)
  ///   next(action)
  ///   print("after", action.name)
  /// }
  /// ```
  public func use(_ body: @escaping @MainActor (_ action: AnyAction, _ next: (AnyAction) -> Void) -> Void) {
    use(ClosureMiddleware(body: body))
  }
}

private struct ClosureMiddleware: Middleware {
  let body: @MainActor (AnyAction, (AnyAction) -> Void) -> Void

  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) { body(action, next) }
}
