import Synchronization

/// Ends an observation before its owner does. Whoever lets it go ends nothing.
public final class ChangeToken: Sendable {
  private let cancelled = Atomic(false)

  init() {}

  /// From any isolation. The observer is not called any more, not even for a change that is being told; a call that is under way on
  /// the main actor is not waited for. Its closure is released at the store's next change or observation.
  public func cancel() { cancelled.store(true, ordering: .releasing) }

  public var isCancelled: Bool { cancelled.load(ordering: .acquiring) }
}
