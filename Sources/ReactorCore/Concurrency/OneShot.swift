import Synchronization

/// The one value that a task makes for one waiter: the task's, or that of the waiter's cancellation, whichever comes first.
final class OneShot<Value: Sendable>: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Value, Never>?
    var value: Value?
    var task: TaskHandle?
  }

  private let state = Mutex(State())

  /// Begins `operation` in a task, and waits for what it returns.
  ///
  /// - Parameters:
  ///   - cancelled: what a cancelled waiter gets, at once.
  ///   - endsTask: whether the waiter's cancellation cancels the task too. Otherwise the task goes on by itself.
  ///   - owner: what the task works for.
  static func value(
    on executor: (any TaskExecutor)?, for owner: LockOwner, orIfCancelled cancelled: Value, endsTask: Bool,
    _ operation: @escaping @Sendable @concurrent () async -> Value
  ) async -> Value {
    let shot = OneShot()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = shot.wait(continuation)
        guard !isOver || !endsTask else { return }
        let task = TaskHandle(priority: Task.currentPriority)
        if endsTask { shot.cancels(task) }
        task.attach(spawn(on: executor, priority: task.priority, for: owner) { shot.settle(await operation()) })
      }
    } onCancel: {
      shot.settle(cancelled)?.cancel()
    }
  }

  /// - Returns: `true` where the value is there already, which the waiter has got.
  private func wait(_ continuation: CheckedContinuation<Value, Never>) -> Bool {
    let value = state.withLock { state in
      if state.value == nil { state.continuation = continuation }
      return state.value
    }
    if let value { continuation.resume(returning: value) }
    return value != nil
  }

  /// From here on, a cancellation of the waiter cancels `task`; one that has come already does so now.
  private func cancels(_ task: TaskHandle) {
    let isOver = state.withLock { state in
      state.task = task
      return state.value != nil
    }
    if isOver { task.cancel() }
  }

  /// Settles the value, unless it is.
  ///
  /// - Returns: the task, where this settled it.
  @discardableResult private func settle(_ value: Value) -> TaskHandle? {
    let (continuation, task) = state.withLock { state in
      guard state.value == nil else { return (nil as CheckedContinuation<Value, Never>?, nil as TaskHandle?) }
      state.value = value
      return (state.continuation.take(), state.task)
    }
    continuation?.resume(returning: value)
    return task
  }
}
