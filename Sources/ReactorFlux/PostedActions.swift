import Synchronization

/// The actions posted from any isolation that wait for the main actor, in the order of their
/// posting.
final class PostedActions: Sendable {
  private let actions = Mutex<[AnyAction]>([])
  /// Read at each dispatch, where a lock would cost too much.
  private let hasNone = Atomic(true)

  var isEmpty: Bool { hasNone.load(ordering: .acquiring) }

  /// Appends an action.
  ///
  /// - Returns: `true` if it is the first, so that the caller has to schedule the handling.
  func append(_ action: AnyAction) -> Bool {
    actions.withLock { actions in
      actions.append(action)
      hasNone.store(false, ordering: .releasing)
      return actions.count == 1
    }
  }

  /// Removes and returns the waiting actions.
  func take() -> [AnyAction] {
    guard !isEmpty else { return [] }
    return actions.withLock { actions in
      hasNone.store(true, ordering: .releasing)
      defer { actions = [] }
      return actions
    }
  }
}
