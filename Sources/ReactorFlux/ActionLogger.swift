/// A middleware that writes a line for each action: its name, and the type of its payload or error,
/// but never their contents.
///
/// ```swift
/// dispatcher.use(ActionLogger { line in print(line) })
/// ```
public struct ActionLogger: Middleware {
  private let write: @MainActor (String) -> Void

  /// Creates a logger.
  ///
  /// - Parameter write: A closure that gets each line, before the handlers run.
  public init(_ write: @escaping @MainActor (String) -> Void) { self.write = write }

  /// Writes the line, and passes the action on.
  public func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    write(action.error.map { "\(action.name) failed: \(type(of: $0))" } ?? "\(action.name) (\(action.payloadType))")
    next(action)
  }
}
