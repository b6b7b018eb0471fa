import Synchronization

/// Calls a closure once: at the end of a scope, or when its last reference is released. So a scope
/// always undoes what it has set up.
final class AtEnd: Sendable {
  private let body: Mutex<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(body) }

  deinit { reach() }

  func reach() { body.withLock { $0.take() }?() }
}
