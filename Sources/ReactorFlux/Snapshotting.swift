/// A store whose whole state is a value that can be captured and restored.
@MainActor public protocol Snapshotting: Store {
  /// The store's whole state.
  associatedtype Snapshot: Sendable
  /// The current state.
  ///
  /// Reading it must not change the store. Setting it must not emit a change: the dispatcher does
  /// that after restoring.
  var snapshot: Snapshot { get set }
}

/// The states of a dispatcher's ``Snapshotting`` stores at one moment.
public struct DispatcherSnapshot: Sendable {
  fileprivate let values: [(store: ObjectIdentifier, value: any Sendable)]
}

extension Dispatcher {
  /// Returns the states of all ``Snapshotting`` stores. Other stores are not captured.
  ///
  /// ```swift
  /// let before = dispatcher.capture()
  /// try dispatcher.restore(before)
  /// ```
  public func capture() -> DispatcherSnapshot {
    DispatcherSnapshot(
      values: stores.compactMap { store in
        (store as? any Snapshotting).map { (ObjectIdentifier(type(of: store)), $0.anySnapshot) }
      })
  }

  /// Restores the captured states, and then notifies the observers of those stores. A store that
  /// was registered later keeps its state.
  ///
  /// ```swift
  /// let saved = dispatcher.capture()
  /// dispatcher.dispatch(loggedOut)
  /// try dispatcher.restore(saved)  // as if nobody had logged out
  /// ```
  ///
  /// Actions that observers dispatch meanwhile are dropped, as in a replay, since they would change
  /// the restored state.
  ///
  /// - Throws: ``FluxError/busy`` within a handler or an observer.
  public func restore(_ snapshot: DispatcherSnapshot) throws(FluxError) {
    // Within a replay, this fails, and the replay continues.
    let wasReplaying = isReplaying
    isReplaying = true
    defer { isReplaying = wasReplaying }
    try alone {
      for (id, value) in snapshot.values {
        let store = stores.first { ObjectIdentifier(type(of: $0)) == id }
        (store as? any Snapshotting)?.putBack(value)
      }
    }
  }
}

extension Dispatcher {
  /// Restores the state of one store, as ``restore(_:)`` does.
  func restore<S: Snapshotting>(_ store: S.Type, to value: S.Snapshot) throws(FluxError) {
    try restore(DispatcherSnapshot(values: [(ObjectIdentifier(S.self), value)]))
  }
}

extension Dispatcher {
  /// Restores the state that each ``Snapshotting`` store had when it was registered, and then
  /// notifies their observers.
  ///
  /// ```swift
  /// try dispatcher.reset()  // the next user begins with empty stores
  /// ```
  ///
  /// Actions that observers dispatch are handled afterwards. A reset is no action: no log has it.
  /// Where a replay must repeat it, dispatch an event that the stores handle. Actions that were
  /// posted before are handled first, and all effects are cancelled: neither reaches the next
  /// user's stores.
  ///
  /// - Throws: ``FluxError/busy`` within a handler or an observer.
  public func reset() throws(FluxError) {
    guard !run.isBusy else { throw .busy }
    consumePosted()
    // After them, since they may have started effects.
    cancelEffects()
    try reset(stores)
  }

  /// Restores the state that the given stores had when they were registered, as ``reset()`` does.
  /// Posted actions and effects continue.
  ///
  /// ```swift
  /// try dispatcher.reset(Session.self, Drafts.self)
  /// ```
  ///
  /// - Throws: ``FluxError/notRegistered(store:)``, before any store is reset, and
  ///   ``FluxError/busy``.
  public func reset<First: Snapshotting, each Other: Snapshotting>(
    _ first: First.Type, _ others: repeat (each Other).Type
  ) throws(FluxError) {
    var stores: [any Store] = [try store(first)]
    for other in repeat each others { stores.append(try store(other)) }
    try reset(stores)
  }

  private func reset(_ stores: [any Store]) throws(FluxError) {
    try alone {
      for store in stores {
        if let initial = store.context.initial { (store as? any Snapshotting)?.putBack(initial) }
      }
    }
  }
}

extension Snapshotting {
  var anySnapshot: any Sendable { snapshot }

  func putBack(_ value: any Sendable) {
    guard let value = value as? Snapshot else { return }
    snapshot = value
    emitChange()
  }
}
