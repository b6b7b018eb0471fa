extension StoreContext {
  /// Another store of the same dispatcher.
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``, for the store itself too, as in its `init`.
  public func store<Other: Store>(_ other: Other.Type) throws(FluxError) -> Other {
    guard let dispatcher else { throw .notRegistered(store: typeName(Other.self)) }
    return try dispatcher.store(other)
  }
}

extension Store {
  /// Within a handler: has another store handle the same action first, if it has not yet.
  ///
  /// Returns at once where the other does not handle the event. What its handler throws is reported, and not thrown here.
  ///
  /// - Throws: ``FluxError/waitCycle(path:)``, ``FluxError/notRegistered(store:)``, ``FluxError/nothingToWaitFor(store:)``.
  public func waitFor<Other: Store>(_ other: Other.Type) throws(FluxError) {
    guard let dispatcher = context.dispatcher else { throw .nothingToWaitFor(store: typeName(Self.self)) }
    try dispatcher.wait(Self.self, for: other)
  }
}
