/// Records what passes it; and, with snapshots, goes back to any action.
///
/// Added last, it records what the stores get. It keeps everything until ``removeAll()``: meant for debugging, tests, and undo.
@MainActor public final class ActionRecorder: Middleware {
  public private(set) var log = ActionLog()
  /// How many of the log's actions the stores' present state knows.
  public private(set) var position = 0
  private let keepsSnapshots: Bool
  /// The state before the first action, and after each.
  private var snapshots: [DispatcherSnapshot] = []

  /// - Parameter keepsSnapshots: captures the ``Snapshotting`` stores after each action, so that ``travel(to:in:)`` can go back to it.
  public init(keepsSnapshots: Bool = false) { self.keepsSnapshots = keepsSnapshots }

  public func handle(_ action: AnyAction, in dispatcher: Dispatcher, next: (AnyAction) -> Void) {
    forgetWhatWasUndone()
    if keepsSnapshots, snapshots.isEmpty { snapshots = [dispatcher.capture()] }
    log.stores = dispatcher.stores.map { typeName(type(of: $0)) }
    log.actions.append(action)
    position += 1
    next(action)
    if keepsSnapshots { snapshots.append(dispatcher.capture()) }
  }

  /// Puts the ``Snapshotting`` stores into the state after the log's first `position` actions, and tells their observers.
  ///
  /// The next action continues from there: those after it are forgotten.
  ///
  /// - Throws: ``FluxError/noSuchPosition(_:count:)``, which every position is without snapshots; ``FluxError/busy``.
  public func travel(to position: Int, in dispatcher: Dispatcher) throws(FluxError) {
    guard snapshots.indices.contains(position) else { throw .noSuchPosition(position, count: log.actions.count) }
    try dispatcher.restore(snapshots[position])
    self.position = position
  }

  /// Begins anew from the present state.
  public func removeAll() {
    let before = (log, snapshots)
    log = ActionLog()
    position = 0
    snapshots = []
    // Released when all is in order: a payload that goes may dispatch.
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
