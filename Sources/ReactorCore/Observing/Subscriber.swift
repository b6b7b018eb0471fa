import Foundation

/// One open stream. Guarded by the reactor's lock; by reference, since each change of a value in a dictionary allocates.
final class Subscriber {
  let resource: Resource
  let policy: FetchPolicy
  /// Of the task that iterates, where that works for an owner.
  let wait: LockOwner.Wait?
  /// How often the network is asked for it.
  let polling: Duration?
  /// The clock's time at which it subscribed.
  let since: Duration
  /// Of the task that began it: what is asked for by itself is asked at it, whoever causes that.
  let priority: TaskPriority
  /// Whether its policy lets it show what the key has.
  var showsValue: Bool
  /// Whether the copy has come since it subscribed; one that was there comes, to it, from memory.
  var sawItArrive = false
  /// Its latest copy, where the key's is another variant (RFC 9111 §4.1).
  var ownVariant: Copy?
  /// Whether it was told that nothing is cached, which concerns no other stream.
  var isNotCached = false
  /// Of the latest change that concerned it alone.
  var revision: UInt64 = 0
  /// The revision that it was given last.
  var delivered: UInt64?
  /// Set while it waits for the next revision.
  var continuation: CheckedContinuation<KeySnapshot?, Never>?

  init(
    resource: Resource, policy: FetchPolicy, polling: Duration?, since: Duration, priority: TaskPriority,
    showsValue: Bool, wait: LockOwner.Wait? = nil
  ) {
    self.resource = resource
    self.wait = wait
    self.policy = policy
    self.polling = polling
    self.since = since
    self.priority = priority
    self.showsValue = showsValue
  }
}

/// What one stream may know of a key at one revision; a ``LoadState`` is made of it outside the lock.
struct KeySnapshot: Sendable {
  var copy: Copy?
  var error: ReactorError?
  var fetchStatus: FetchStatus
  var progress: TransferProgress?
  var origin: Origin?
  var revision: UInt64
  var valueRevision: UInt64
  /// Whether it was removed, and nobody asks.
  var isRemoved: Bool
}
