/// The connection of a store to its dispatcher and its observers. Each store has its own.
@MainActor public final class StoreContext {
  let observers = ChangeObservers()
  private(set) weak var dispatcher: Dispatcher?
  private(set) var isOwned = false
  private var run = DispatchRun()
  private var isPending = false
  /// A Boolean value that indicates whether the store has ever changed.
  private(set) var hasChanged = false
  private var pendingError: (any Error)?
  /// The number of times that the observers were called in the current notification.
  private var rounds = 0
  private var notification = 0

  /// Creates the context of a store that is not registered yet.
  public init() {}

  func join(_ dispatcher: Dispatcher, _ run: DispatchRun) {
    self.dispatcher = dispatcher
    self.run = run
    isOwned = true
  }

  /// Records a change. Changes before the next notification are merged. A later change without an
  /// error does not discard an earlier error.
  func change(_ store: any Store, _ error: (any Error)?) {
    if let error { pendingError = error }
    hasChanged = true
    guard !isPending else { return }
    isPending = true
    run.changed(store)
  }

  /// Notifies the observers of the pending change.
  ///
  /// - Returns: The reason why it did not; `nil` if it did, or the reason was already reported.
  func notify(_ store: any Store) -> FluxError? {
    let error = pendingError
    isPending = false
    pendingError = nil
    if notification != run.notifications { (notification, rounds) = (run.notifications, 0) }
    rounds += 1
    guard rounds <= Dispatcher.maximumDepth else {
      // Reported once, since the closure that is called may change the store.
      return rounds == Dispatcher.maximumDepth + 1 ? .changesWithoutEnd(store: typeName(type(of: store))) : nil
    }
    observers.notify(store, error)
    run.observers.notify(store, error)
    return nil
  }
}
