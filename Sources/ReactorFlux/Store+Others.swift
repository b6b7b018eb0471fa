extension StoreContext {
  /// Returns another store of the same dispatcher.
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``. It is also thrown while this store is not
  ///   registered itself, as in its `init`.
  public func store<Other: Store>(_ other: Other.Type) throws(FluxError) -> Other {
    guard let dispatcher else { throw .notRegistered(store: typeName(Other.self)) }
    return try dispatcher.store(other)
  }
}

extension Store {
  /// Lets another store handle the current action first, if it has not done so yet. Call it in a
  /// handler.
  ///
  /// ```swift
  /// try store.waitFor(Session.self)
  /// let name = try store.context.store(Session.self).name
  /// ```
  ///
  /// It returns at once if the other store does not handle the event. An error of the other store's
  /// handler is reported to ``Dispatcher/onFailure``, and not thrown here.
  ///
  /// - Throws: ``FluxError/waitCycle(path:)`` if the other store waits for this one,
  ///   ``FluxError/notRegistered(store:)``, or ``FluxError/nothingToWaitFor(store:)`` outside of a
  ///   handler.
  public func waitFor<Other: Store>(_ other: Other.Type) throws(FluxError) {
    guard let dispatcher = context.dispatcher else { throw .nothingToWaitFor(store: typeName(Self.self)) }
    try dispatcher.wait(Self.self, for: other)
  }
}
