/// Writes a line for each action: its name, and the type of its payload or error, never their contents.
public struct ActionLogger: Middleware {
  private let write: @MainActor (String) -> Void

  /// - Parameter write: called before the handlers run.
  public init(_ write: @escaping @MainActor (String) -> Void) { self.write = write }

  public func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    write(action.error.map { "\(action.name) failed: \(type(of: $0))" } ?? "\(action.name) (\(action.payloadType))")
    next(action)
  }
}
