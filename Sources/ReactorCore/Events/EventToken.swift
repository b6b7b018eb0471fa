import Synchronization

/// Keeps an observation of events alive: it ends when the token is cancelled or released.
public final class EventToken: Sendable {
  private let onCancel: Mutex<(@Sendable () -> Void)?>

  init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

  deinit { cancel() }

  /// Ends the observation. A call of the observer that is under way on another thread is not waited for.
  public func cancel() {
    let action = onCancel.withLock { action in
      defer { action = nil }
      return action
    }
    action?()
  }
}
