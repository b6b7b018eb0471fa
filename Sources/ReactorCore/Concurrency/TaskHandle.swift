import Synchronization

/// The task that runs a flight's step: made under the lock, begun after it, and cancelled whichever comes first.
package final class TaskHandle: Sendable {
  private enum State {
    case unborn(priority: TaskPriority?)
    case running(Task<Void, Never>)
    case cancelled
    /// Past the point where its flight's end concerns it.
    case released
  }

  private let state: Mutex<State>

  package init(priority: TaskPriority?) { state = Mutex(.unborn(priority: priority)) }

  /// Takes over `task`, which has begun.
  package func attach(_ task: Task<Void, Never>) {
    let (isCancelled, priority) = state.withLock { state -> (Bool, TaskPriority?) in
      switch state {
      case .unborn(let priority):
        state = .running(task)
        return (false, priority)
      case .cancelled: return (true, nil)
      case .running, .released: return (false, nil)
      }
    }
    if isCancelled { task.cancel() }
    // It may have been raised since the task was made.
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

  /// From here on ``cancel()`` does nothing: the answer is there, and being kept.
  func release() {
    state.withLock { state in
      if case .cancelled = state { return }
      state = .released
    }
  }

  /// Raises the task's priority to that of a waiter that has joined. Before the systems of 2025 only where the task is not
  /// made yet: one that runs keeps its priority there.
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

  /// The priority to begin with.
  var priority: TaskPriority? {
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

/// Makes every unstructured task of the library, so that the whole of it can be run on one executor.
///
/// - Parameters:
///   - executor: where it runs; `nil` is the global executor.
///   - owner: what the task works for. `nil`: for nobody who waits, whatever task makes it, so it passes no ``KeyedAsyncLock`` that is held.
package func spawn(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil, for owner: LockOwner? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task(executorPreference: executor, priority: priority) { @concurrent in
    await LockOwner.$current.withValue(owner) { await operation() }
  }
}

/// Makes a task that belongs to nobody, however long it runs: a timer, a watcher, whoever delivers for others. It inherits
/// neither the priority nor the task-local values of the task that happened to be the first to need it.
///
/// - Parameters:
///   - executor: where it runs; `nil` is the global executor.
///   - priority: `nil` is medium.
package func spawnApart(
  on executor: (any TaskExecutor)?, priority: TaskPriority? = nil,
  _ operation: @escaping @Sendable @concurrent () async -> Void
) -> Task<Void, Never> {
  Task.detached(executorPreference: executor, priority: priority ?? .medium) { @concurrent in await operation() }
}
