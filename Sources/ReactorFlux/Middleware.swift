/// What every action passes on its way to the stores, in the order in which middlewares were added.
///
/// ```swift
/// dispatcher.use { action, next in
///   if isSignedIn || action.name == "signIn" { next(action) }
/// }
/// ```
@MainActor public protocol Middleware {
  /// - Parameters:
  ///   - dispatcher: where stores are looked up. What is dispatched to it comes after this action.
  ///   - next: the rest of the way, within this call: not called, it drops the action; called with another, it replaces it; called
  ///     again, it adds one. The handlers have run when it returns; the changes have not been told.
  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void)
}

extension Dispatcher {
  /// Adds a middleware that is a closure.
  public func use(_ body: @escaping @MainActor (_ action: AnyAction, _ next: (AnyAction) -> Void) -> Void) {
    use(ClosureMiddleware(body: body))
  }
}

private struct ClosureMiddleware: Middleware {
  let body: @MainActor (AnyAction, (AnyAction) -> Void) -> Void

  func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) { body(action, next) }
}
