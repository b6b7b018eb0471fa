import Synchronization

/// A token that ends an observation before its owner is released. Releasing the token ends nothing.
///
/// ```swift
/// let token = session.observe(self) { session, _ in show(session.user) }
/// token.cancel()
/// ```
public final class ChangeToken: Sendable {
  private let cancelled = Atomic(false)

  init() {}

  /// Ends the observation, from any isolation.
  ///
  /// The observer is not called again, not even for a change whose notification is under way. The
  /// method does not wait for a call in progress on the main actor. The observer's closure is
  /// released at the store's next change or observation.
  public func cancel() { cancelled.store(true, ordering: .releasing) }

  /// A Boolean value that indicates whether ``cancel()`` was called.
  public var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
}
