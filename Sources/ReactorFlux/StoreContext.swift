/// What joins a store to its dispatcher and to its observers. Each store has its own.
@MainActor public final class StoreContext {
  let observers = ChangeObservers()
  private(set) weak var dispatcher: Dispatcher?
  private(set) var isOwned = false
  private var run = DispatchRun()
  private var isPending = false
  private var pendingError: (any Error)?
  /// How often the observers were called in the run's telling of that number.
  private var rounds = 0
  private var notification = 0

  public init() {}

  func join(_ dispatcher: Dispatcher, _ run: DispatchRun) {
    self.dispatcher = dispatcher
    self.run = run
    isOwned = true
  }

  /// Several before the observers are told are one; an error is not lost to a later change that has none.
  func change(_ store: any Store, _ error: (any Error)?) {
    if let error { pendingError = error }
    guard !isPending else { return }
    isPending = true
    run.changed(store)
  }

  /// Tells the observers of what is pending.
  ///
  /// - Returns: why it did not.
  func notify(_ store: any Store) -> FluxError? {
    let error = pendingError
    isPending = false
    pendingError = nil
    if notification != run.notifications { (notification, rounds) = (run.notifications, 0) }
    rounds += 1
    guard rounds <= Dispatcher.maximumDepth else {
      // Once, since who is told may change the store.
      return rounds == Dispatcher.maximumDepth + 1 ? .changesWithoutEnd(store: typeName(type(of: store))) : nil
    }
    observers.notify(store, error)
    run.observers.notify(store, error)
    return nil
  }
}
