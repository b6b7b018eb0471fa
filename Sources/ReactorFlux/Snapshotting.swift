/// A store whose whole state is a value that can be taken and put back.
@MainActor public protocol Snapshotting: Store {
  associatedtype Snapshot: Sendable
  /// Reading it changes nothing. Setting it emits no change: who puts it back does.
  var snapshot: Snapshot { get set }
}

/// The states of a dispatcher's ``Snapshotting`` stores at one time.
public struct DispatcherSnapshot: Sendable {
  fileprivate let values: [(store: ObjectIdentifier, value: any Sendable)]
}

extension Dispatcher {
  /// The state of every ``Snapshotting`` store. The others have no part in it.
  public func capture() -> DispatcherSnapshot {
    DispatcherSnapshot(
      values: stores.compactMap { store in
        (store as? any Snapshotting).map { (ObjectIdentifier(type(of: store)), $0.anySnapshot) }
      })
  }

  /// Puts the states back, then tells the observers of those stores. A store that was registered since keeps its state.
  ///
  /// What the observers dispatch meanwhile is dropped, as in a replay: it would change what was put back.
  ///
  /// - Throws: ``FluxError/busy`` within a handler or an observer.
  public func restore(_ snapshot: DispatcherSnapshot) throws(FluxError) {
    isReplaying = true
    defer { isReplaying = false }
    try alone {
      for (id, value) in snapshot.values {
        let store = stores.first { ObjectIdentifier(type(of: $0)) == id }
        (store as? any Snapshotting)?.putBack(value)
      }
    }
  }
}

extension Snapshotting {
  fileprivate var anySnapshot: any Sendable { snapshot }

  fileprivate func putBack(_ value: any Sendable) {
    guard let value = value as? Snapshot else { return }
    snapshot = value
    emitChange()
  }
}
