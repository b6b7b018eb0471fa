import Synchronization

/// Requests that nobody waits for: one per key at a time, and not too many.
final class Revalidations: Sendable {
  private static let limit = 16
  private let keys = Mutex<Set<String>>([])

  /// Runs `work` in a task of its own; nothing happens while there is one for the key, or too many.
  func start(_ key: String, _ work: @escaping @Sendable () async -> Void) {
    guard keys.withLock({ $0.count < Self.limit && $0.insert(key).inserted }) else { return }
    Task {
      await work()
      _ = keys.withLock { $0.remove(key) }
    }
  }
}
