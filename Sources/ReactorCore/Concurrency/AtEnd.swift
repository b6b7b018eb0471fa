import Synchronization

/// Calls a closure once: when the end of a scope is reached, or when nothing refers to it any more.
/// So what a scope has entered is left in any case.
final class AtEnd: Sendable {
  private let body: Mutex<(@Sendable () -> Void)?>

  init(_ body: @escaping @Sendable () -> Void) { self.body = Mutex(body) }

  deinit { reach() }

  func reach() { body.withLock { $0.take() }?() }
}
