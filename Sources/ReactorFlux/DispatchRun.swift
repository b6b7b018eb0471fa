/// The state of a dispatcher's current run. The contexts of its stores share it, so that a change
/// needs no weak reference.
@MainActor final class DispatchRun {
  /// A Boolean value that indicates whether actions are being handled or observers notified.
  var isBusy = false
  var onFailure: @MainActor (FluxError) -> Void = { StandardError.write("ReactorFlux: \($0)") }
  /// The observers of every store.
  let observers = ChangeObservers()
  /// The observers of several stores at once.
  let groups = ChangeObservers()
  /// The stores whose observers have not been notified yet, in the order of each store's first
  /// change.
  private var changed: [any Store] = []
  /// The stores whose observers are being notified.
  private var told: [any Store] = []
  /// The number of calls of ``notifyChanges()`` that found a change.
  private(set) var notifications = 0
  /// The dispatcher; `nil` for a store without one.
  weak var dispatcher: Dispatcher?

  /// Records a change. Within a run, observers are notified after the current action's handlers;
  /// otherwise now.
  func changed(_ store: any Store) {
    changed.append(store)
    perform {}
  }

  /// Calls an observer outside of a notification. Within a run, that is all; otherwise, what it
  /// changes and dispatches is handled afterwards.
  func perform(_ body: () -> Void) {
    guard !isBusy else { return body() }
    isBusy = true
    body()
    if let dispatcher { return dispatcher.finish() }
    notifyChanges()
    isBusy = false
  }

  /// Notifies the observers of the changed stores, and then the observers of the stores that they
  /// changed.
  func notifyChanges() {
    guard !changed.isEmpty else { return }
    notifications += 1
    while !changed.isEmpty {
      // Swapped, so that both arrays keep their capacity. Releasing a store in `told` may change
      // another.
      swap(&changed, &told)
      var hasNotified = false
      for store in told where store.context.notify(store) { hasNotified = true }
      if hasNotified, !groups.observers.isEmpty { groups.notifyGroups(of: told.filter(\.context.isNotified)) }
      told.removeAll(keepingCapacity: true)
    }
  }
}
