import Synchronization

extension ModelLayer {
  /// A token that keeps an observation of events or states alive. The observation ends when the
  /// token is cancelled or released.
  ///
  /// ```swift
  /// token = layer.observeEvents { event in print(event) }
  /// token = nil  // the observation ends
  /// ```
  public final class ObservationToken: Sendable {
    private let onCancel: Mutex<(@Sendable () -> Void)?>

    init(_ onCancel: @escaping @Sendable () -> Void) { self.onCancel = Mutex(onCancel) }

    deinit { cancel() }

    /// Ends the observation. Does not wait for a call of the observer that is under way on another
    /// thread.
    ///
    /// ```swift
    /// let token = layer.observeEvents { event in print(event) }
    /// token.cancel()
    /// ```
    public func cancel() {
      let action = onCancel.withLock { $0.take() }
      action?()
    }
  }
}
