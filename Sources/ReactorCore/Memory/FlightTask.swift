import Synchronization

/// The task that runs a flight's step: made under the lock, begun after it, and cancelled whichever comes first.
final class FlightTask: Sendable {
  private enum State {
    case unborn(priority: TaskPriority?)
    case running(Task<Void, Never>)
    case cancelled
    /// Past the point where its flight's end concerns it.
    case released
  }

  private let state: Mutex<State>

  init(priority: TaskPriority?) { state = Mutex(.unborn(priority: priority)) }

  /// Takes over `task`, which has begun.
  func attach(_ task: Task<Void, Never>) {
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

  func cancel() {
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

  /// Raises the task's priority to that of a party that has joined. Before the systems of 2025 only where the task is not
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
