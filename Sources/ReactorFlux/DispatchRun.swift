/// What is under way in a dispatcher. The contexts of its stores share it, so that a change needs no weak reference.
@MainActor final class DispatchRun {
  /// While actions are handled and changes told.
  var isBusy = false
  var onFailure: @MainActor (FluxError) -> Void = { StandardError.write("ReactorFlux: \($0)") }
  /// Of every store.
  let observers = ChangeObservers()
  /// Stores whose observers do not know of a change yet, in the order of the first change of each.
  private var changed: [any Store] = []
  /// Stores whose observers are being told.
  private var told: [any Store] = []
  /// The count of calls of ``notifyChanges()`` that had a change.
  private(set) var notifications = 0
  /// `nil` for a store that has none.
  weak var dispatcher: Dispatcher?

  /// Within a run, it is told when the present action's handlers have run; else now.
  func changed(_ store: any Store) {
    changed.append(store)
    guard !isBusy else { return }
    isBusy = true
    if let dispatcher { return dispatcher.finish() }
    notifyChanges()
    isBusy = false
  }

  /// Calls the observers of what has changed, and then of what they have changed.
  func notifyChanges() {
    guard !changed.isEmpty else { return }
    notifications += 1
    while !changed.isEmpty {
      // Swapped and not replaced, so that both keep their room. A store that is released with `told` may change another.
      swap(&changed, &told)
      for store in told {
        if let error = store.context.notify(store) { onFailure(error) }
      }
      told.removeAll(keepingCapacity: true)
    }
  }
}
