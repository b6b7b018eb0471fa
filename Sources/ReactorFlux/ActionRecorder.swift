/// A middleware that records the actions that pass it. With snapshots, it can go back to any of
/// them.
///
/// Add it last to record the actions that the stores get. It stores every action until
/// ``removeAll()``, so use it for debugging, tests and undo.
@MainActor public final class ActionRecorder: Middleware {
  /// The recorded actions.
  public private(set) var log = ActionLog()
  /// The number of the log's actions that are part of the stores' current state.
  public private(set) var position = 0
  private let keepsSnapshots: Bool
  /// The state before the first action, and after each action.
  private var snapshots: [DispatcherSnapshot] = []

  /// Creates a recorder with an empty log.
  ///
  /// ```swift
  /// let recorder = ActionRecorder(keepsSnapshots: true)
  /// dispatcher.use(recorder)
  /// ```
  ///
  /// - Parameter keepsSnapshots: `true` to capture the ``Snapshotting`` stores after each action,
  ///   so that ``travel(to:in:)`` can restore them.
  public init(keepsSnapshots: Bool = false) { self.keepsSnapshots = keepsSnapshots }

  /// Records the action, passes it on, and captures the stores if snapshots are kept.
  public func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    forgetWhatWasUndone()
    if keepsSnapshots, snapshots.isEmpty { snapshots = [dispatcher.capture()] }
    log.stores = dispatcher.stores.map { typeName(type(of: $0)) }
    log.actions.append(action)
    position += 1
    next(action)
    if keepsSnapshots { snapshots.append(dispatcher.capture()) }
  }

  /// Restores the ``Snapshotting`` stores to the state after the first `position` actions of the
  /// log, and notifies their observers.
  ///
  /// ```swift
  /// try recorder.travel(to: recorder.position - 1, in: dispatcher)  // undo
  /// ```
  ///
  /// The next action continues from there: the log's later actions are removed.
  ///
  /// - Throws: ``FluxError/noSuchPosition(_:count:)`` if there is no snapshot of that position, and
  ///   ``FluxError/busy``.
  public func travel(to position: Int, in dispatcher: Dispatcher) throws(FluxError) {
    guard snapshots.indices.contains(position) else { throw .noSuchPosition(position, count: log.actions.count) }
    try dispatcher.restore(snapshots[position])
    self.position = position
  }

  /// Removes all actions and snapshots. Recording continues from the current state.
  public func removeAll() {
    let before = (log, snapshots)
    log = ActionLog()
    position = 0
    snapshots = []
    // Released when the recorder is consistent, since releasing a payload may dispatch.
    withExtendedLifetime(before) {}
  }

  private func forgetWhatWasUndone() {
    guard position < log.actions.count else { return }
    let before = (log, snapshots)
    log.actions.removeSubrange(position...)
    snapshots.removeSubrange((position + 1)...)
    withExtendedLifetime(before) {}
  }
}
