import Foundation

/// One open stream.
struct Subscriber<Model: Sendable> {
  let resource: Resource
  let policy: FetchPolicy
  /// How often the network is asked for it.
  let polling: Duration?
  /// The clock's time at which it subscribed.
  let since: Duration
  /// Whether its policy lets it show what the key has.
  var showsValue: Bool
  /// Whether the copy has come since it subscribed; one that was there comes, to it, from memory.
  var sawItArrive = false
  /// Its latest copy, where the key's is another variant (RFC 9111 §4.1).
  var ownVariant: Copy<Model>?
  /// Whether it was told that nothing is cached, which concerns no other stream.
  var isNotCached = false
  /// Of the latest change that concerned it alone.
  var revision: UInt64 = 0
  /// The revision that it was given last.
  var delivered: UInt64?
  /// Set while it waits for the next revision.
  var continuation: CheckedContinuation<KeySnapshot<Model>?, Never>?
}

/// What one stream may know of a key at one revision; a ``LoadState`` is made of it outside the lock.
struct KeySnapshot<Model: Sendable>: Sendable {
  var copy: Copy<Model>?
  var error: ReactorError?
  var fetchStatus: FetchStatus
  var progress: TransferProgress?
  var origin: Origin?
  var revision: UInt64
  var valueRevision: UInt64
}
