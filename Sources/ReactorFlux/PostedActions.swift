import Synchronization

/// Actions from any isolation that wait for the main actor, in the order in which they came.
final class PostedActions: Sendable {
  private let actions = Mutex<[AnyAction]>([])
  /// Read at each dispatch, where a lock would show.
  private let hasNone = Atomic(true)

  var isEmpty: Bool { hasNone.load(ordering: .acquiring) }

  /// - Returns: whether it is the first, so that somebody must come for it.
  func append(_ action: AnyAction) -> Bool {
    actions.withLock { actions in
      actions.append(action)
      hasNone.store(false, ordering: .releasing)
      return actions.count == 1
    }
  }

  /// All that wait, which do so no longer.
  func take() -> [AnyAction] {
    guard !isEmpty else { return [] }
    return actions.withLock { actions in
      hasNone.store(true, ordering: .releasing)
      defer { actions = [] }
      return actions
    }
  }
}
