import Synchronization

/// An activity that has been given background time; it ends when it is told to, or released.
public final class BackgroundActivity: Sendable {
  /// `nil` once it has ended.
  private let onEnd: Mutex<(@Sendable () -> Void)?>

  /// - Parameter onEnd: called once, on whatever thread the end comes.
  public init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = Mutex(onEnd) }

  deinit { end() }

  /// Gives the time back. Again, it does nothing.
  public func end() { onEnd.withLock { $0.take() }?() }
}
