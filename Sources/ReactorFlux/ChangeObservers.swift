/// The observers of a store or a dispatcher, in the order in which they were added.
@MainActor final class ChangeObservers {
  typealias Body = @MainActor (_ owner: AnyObject, any Store, (any Error)?) -> Void

  final class Observer {
    weak let owner: AnyObject?
    let token = ChangeToken()
    let body: Body

    init(_ owner: AnyObject, _ body: @escaping Body) {
      self.owner = owner
      self.body = body
    }

    var isOver: Bool { owner == nil || token.isCancelled }
  }

  private(set) var observers: [Observer] = []

  func add(_ owner: AnyObject, _ body: @escaping Body) -> ChangeToken {
    removeEnded()
    let observer = Observer(owner, body)
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

  private func removeEnded() {
    let before = observers
    observers = before.filter { !$0.isOver }
    // Released here, not within the access above: the closures that are released may call this
    // store.
    withExtendedLifetime(before) {}
  }
}
