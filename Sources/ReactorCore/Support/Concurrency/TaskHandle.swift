import Synchronization

/// A handle on the task of a flight's step. The handle is created under the lock and the task after
/// it. Cancelling the handle works in either order.
package final class TaskHandle: Sendable {
  private enum State {
    case unborn(priority: TaskPriority?)
    case running(Task<Void, Never>)
    case cancelled
    /// The flight no longer cancels the task when it finishes.
    case released
  }

  private let state: Mutex<State>

  package init(priority: TaskPriority?) { state = Mutex(.unborn(priority: priority)) }

  /// Attaches `task`, which is running already. It takes the place of an earlier task.
  package func attach(_ task: Task<Void, Never>) {
    let (isCancelled, priority) = state.withLock { state -> (Bool, TaskPriority?) in
      switch state {
      case .unborn(let priority):
        state = .running(task)
        return (false, priority)
      case .running:
        state = .running(task)
        return (false, nil)
      case .cancelled: return (true, nil)
      case .released: return (false, nil)
      }
    }
    if isCancelled { task.cancel() }
    // The priority may have been raised since the task was created.
    if let priority { Self.escalate(task, to: priority) }
  }

  package func cancel() {
    let task = state.withLock { state -> Task<Void, Never>? in
      switch state {
      case .unborn: state = .cancelled
      case .running(let task):
        state = .cancelled
        return task
      case .cancelled, .released: break
      }
      return nil
    }
    task?.cancel()
  }

  /// Makes ``cancel()`` ineffective: the response has arrived and is being stored.
  func release() {
    state.withLock { state in
      if case .cancelled = state { return }
      state = .released
    }
  }

  /// Raises the task's priority to a new waiter's. On Apple platforms before the releases of 2025,
  /// this affects only a task that is not created yet.
  func escalate(to priority: TaskPriority) {
    let task = state.withLock { state -> Task<Void, Never>? in
      switch state {
      case .unborn(let old):
        state = .unborn(priority: max(old ?? priority, priority))
        return nil
      case .running(let task): return task
      case .cancelled, .released: return nil
      }
    }
    if let task { Self.escalate(task, to: priority) }
  }

  /// The priority to create the task with; `nil` once there is a task.
  package var priority: TaskPriority? {
    state.withLock { state in
      if case .unborn(let priority) = state { priority } else { nil }
    }
  }

  private static func escalate(_ task: Task<Void, Never>, to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      task.escalatePriority(to: priority)
    }
  }
}

/// Creates an unstructured task. All such tasks of the library come from here or from
/// ``spawnApart(on:priority:_:)``, so that the library can run on one executor.
///
/// - Parameters:
///   - executor: the preferred executor; `nil` for the global executor.
///   - owner: the owner that the task works for. With `nil`, it works for no waiting task, whatever
///     task creates it, so it enters no ``KeyedAsyncLock`` that is held.
package func spawn(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil, for owner: LockOwner? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task(executorPreference: executor, priority: priority) { @concurrent in
    await LockOwner.$current.withValue(owner) { await operation() }
  }
}

/// Creates a task as ``spawn(on:priority:for:_:)`` does, on the global executor, and runs it on the
/// current thread until it suspends. Where the system has no such tasks, another thread runs it.
///
/// Call it without a lock, and only from a task that is on no actor and prefers no executor.
func spawnAtOnce(
  priority: TaskPriority?, for owner: LockOwner?, _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
    return spawn(on: nil, priority: priority, for: owner, operation)
  }
  return Task.immediate(priority: priority) { @concurrent in
    await LockOwner.$current.withValue(owner) { await operation() }
  }
}

/// Creates a task as ``spawnApart(on:priority:_:)`` does, which begins on the main actor.
package func spawnOnMainActor(priority: TaskPriority, _ operation: @escaping @MainActor @Sendable () async -> Void) {
  _ = Task.detached(priority: priority, operation: operation)
}

/// Creates a task that is independent of its creator, however long it runs: a timer, a watcher, or
/// a delivery for others. It inherits neither the priority nor the task-local values of the task
/// that happened to need it first.
///
/// - Parameters:
///   - executor: the preferred executor; `nil` for the global executor.
///   - priority: the priority; `nil` for medium.
package func spawnApart(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task.detached(executorPreference: executor, priority: priority ?? .medium) { @concurrent in await operation() }
}
