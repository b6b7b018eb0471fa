import Synchronization

/// A value that is set once, for one waiter.
package final class OneShot<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value, Never>)
    case settled(Value)
  }

  private let state = Mutex(State.open)

  package init() {}

  package var isSettled: Bool {
    state.withLock { if case .settled = $0 { true } else { false } }
  }

  /// Sets the value, unless it is set already.
  ///
  /// - Returns: `true` if this call has set it.
  @discardableResult package func settle(_ value: Value) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, CheckedContinuation<Value, Never>?) in
      if case .settled = state { return (false, nil) }
      defer { state = .settled(value) }
      if case .awaited(let waiter) = state { return (true, waiter) }
      return (true, nil)
    }
    waiter?.resume(returning: value)
    return isFirst
  }

  /// The value, once it is set. Cancellation does not end the wait: the caller's cancellation
  /// handler settles a value.
  package var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let value = state.withLock { state -> Value? in
          if case .settled(let value) = state { return value }
          state = .awaited(continuation)
          return nil
        }
        if let value { continuation.resume(returning: value) }
      }
    }
  }
}

extension OneShot {
  /// Begins `operation` in a task, and waits for its value or for the waiter's cancellation,
  /// whichever comes first.
  ///
  /// `operation` always runs, so that it can undo what its caller has set up. It runs in a
  /// cancelled task if the waiter was cancelled before.
  ///
  /// - Parameters:
  ///   - owner: the owner that the task works for.
  ///   - cancelled: the value that a cancelled waiter gets at once.
  ///   - endsTask: `true` to cancel the task with its waiter. Otherwise the task continues by
  ///     itself.
  package static func value(
    on executor: (any TaskExecutor)?, for owner: LockOwner, orIfCancelled cancelled: Value, endsTask: Bool,
    _ operation: @escaping @Sendable @concurrent () async -> Value
  ) async -> Value {
    let shot = OneShot()
    let task = TaskHandle(priority: Task.currentPriority)
    return await withTaskCancellationHandler {
      task.attach(
        spawn(on: executor, priority: task.priority, for: owner) {
          // It may run before it is attached.
          if endsTask, shot.isSettled { withUnsafeCurrentTask { $0?.cancel() } }
          shot.settle(await operation())
        })
      return await shot.value
    } onCancel: {
      if shot.settle(cancelled), endsTask { task.cancel() }
    }
  }
}

/// A box that passes a value to the one task that takes it.
package final class SendingBox<Value>: Sendable {
  private let value: Mutex<Value?>

  package init(_ value: sending Value) { self.value = Mutex(value) }

  package func take() -> sending Value? { value.withLock { $0.take() } }
}
