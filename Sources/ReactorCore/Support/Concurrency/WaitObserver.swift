import Synchronization

/// A part of another module that looks for circles whenever an owner may have gained waits.
package final class WaitObserver: Sendable {
  private static let observer = AtomicLazyReference<WaitObserver>()
  private let body: @Sendable () -> Void

  private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Calls `body` after each new wait of an owner, without a lock. Only the first call has an
  /// effect.
  package static func observe(_ body: @escaping @Sendable () -> Void) {
    if observer.load() == nil { _ = observer.storeIfNil(WaitObserver(body)) }
  }

  /// Owners have gained waits. Call it without a lock.
  static func ownersGainedWaits() { observer.load()?.body() }
}
