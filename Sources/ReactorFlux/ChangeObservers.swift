/// The observers of a store or a dispatcher, in the order in which they were added.
@MainActor final class ChangeObservers {
  typealias Body = @MainActor (_ owner: AnyObject, any Store, (any Error)?) -> Void

  final class Observer {
    weak let owner: AnyObject?
    let id: AnyHashable?
    /// The stores of an observer of a group; empty for an observer of each store.
    let stores: [any Store.Type]
    let token = ChangeToken()
    let body: Body

    init(_ owner: AnyObject, id: AnyHashable?, stores: [any Store.Type], _ body: @escaping Body) {
      self.owner = owner
      self.id = id
      self.stores = stores
      self.body = body
    }

    var isOver: Bool { owner == nil || token.isCancelled }
  }

  private(set) var observers: [Observer] = []

  /// Adds an observer. It replaces the owner's observer with the same id.
  func add(
    _ owner: AnyObject, id: AnyHashable? = nil, of stores: [any Store.Type] = [], _ body: @escaping Body
  ) -> ChangeToken {
    if let id {
      for observer in observers where observer.id == id && observer.owner === owner { observer.token.cancel() }
    }
    removeEnded()
    let observer = Observer(owner, id: id, stores: stores, body)
    observers.append(observer)
    return observer.token
  }

  /// Calls the observers that existed before the call, except observers that have ended meanwhile.
  func notify(_ store: any Store, _ error: (any Error)?) {
    var hasEnded = false
    for observer in observers {
      if let owner = observer.owner, !observer.token.isCancelled {
        observer.body(owner, store, error)
      } else {
        hasEnded = true
      }
    }
    if hasEnded { removeEnded() }
  }

  /// Calls, once each, the observers of a group to which one of the changed stores belongs.
  func notifyGroups(of changed: [any Store]) {
    var hasEnded = false
    for observer in observers {
      guard let owner = observer.owner, !observer.token.isCancelled else {
        hasEnded = true
        continue
      }
      let store = changed.first { store in observer.stores.contains { $0 == type(of: store) } }
      if let store { observer.body(owner, store, nil) }
    }
    if hasEnded { removeEnded() }
  }

  private func removeEnded() {
    let before = observers
    observers = before.filter { !$0.isOver }
    // Released here, not within the access above: the closures that are released may call this
    // store.
    withExtendedLifetime(before) {}
  }
}
