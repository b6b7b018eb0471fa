extension Snapshotting where Snapshot: Equatable {
  /// Changes the snapshot, and emits a change if it then differs.
  ///
  /// ```swift
  /// store.update { state in state.theme = theme }
  /// ```
  ///
  /// A failure is always emitted. If `change` throws, the snapshot stays as it was, and nothing is
  /// emitted.
  ///
  /// - Parameters:
  ///   - error: The reason, if the change is a failure.
  ///   - change: A closure that changes the snapshot. The snapshot before is kept until it returns,
  ///     so a large array is copied when it is changed.
  /// - Returns: `true` if the snapshot differs.
  @discardableResult
  public func update<Failure>(
    error: (any Error)? = nil, _ change: (inout Snapshot) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    let before = snapshot
    var after = before
    try change(&after)
    let differs = after != before
    if differs { snapshot = after }
    if differs || error != nil { emitChange(error: error) }
    return differs
  }
}

extension ActionHandler where S: Snapshotting, S.Snapshot: Equatable {
  /// Creates an entry for an event whose handler only changes the snapshot. The store emits a
  /// change if it then differs, or if the action is an error, which the change then has.
  ///
  /// ```swift
  /// static let handlers: [ActionHandler<Appearance>] = [
  ///   .reduce(.themeChosen) { state, action in state.theme = action.payload ?? state.theme }
  /// ]
  /// ```
  ///
  /// - Parameters:
  ///   - event: The event. Its actions carry a payload of its type, or an error.
  ///   - body: The handler. After an error that it throws, the snapshot is as before; the error is
  ///     reported to ``Dispatcher/onFailure``.
  public static func reduce<Payload>(
    _ event: Event<Payload>, _ body: @escaping @MainActor (inout S.Snapshot, Action<Payload>) throws -> Void
  ) -> ActionHandler {
    on(event) { store, action in
      try store.update(error: action.error) { state in try body(&state, action) }
    }
  }
}
