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
  /// A Boolean value that indicates whether the observers were called for the latest change.
  private(set) var isNotified = false
  /// The snapshot at the registration, if the store has one.
  private(set) var initial: (any Sendable)?

  /// Creates the context of a store that is not registered yet.
  public init() {}

  func join(_ dispatcher: Dispatcher, _ run: DispatchRun, initial: (any Sendable)?) {
    self.dispatcher = dispatcher
    self.run = run
    self.initial = initial
    isOwned = true
  }

  /// Calls an observer with the present state. Its consequences follow as those of a change.
  func perform(_ body: () -> Void) { run.perform(body) }

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
  /// - Returns: `false` if it did not, since they have changed the store in each call. The reason
  ///   is reported once.
  func notify(_ store: any Store) -> Bool {
    let error = pendingError
    isPending = false
    pendingError = nil
    if notification != run.notifications { (notification, rounds) = (run.notifications, 0) }
    rounds += 1
    isNotified = rounds <= Dispatcher.maximumDepth
    guard isNotified else {
      // Reported once, since the closure that is called may change the store.
      if rounds == Dispatcher.maximumDepth + 1 { run.onFailure(.changesWithoutEnd(store: typeName(type(of: store)))) }
      return false
    }
    observers.notify(store, error)
    run.observers.notify(store, error)
    return true
  }
}
