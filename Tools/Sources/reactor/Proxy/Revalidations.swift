import Synchronization

/// Revalidations in the background: at most one per key and 16 in all.
final class Revalidations: Sendable {
  static let limit = 16
  private let keys = Mutex<Set<String>>([])

  /// Runs `work` in a new task. Does nothing if the key has a task already, or at the limit.
  func start(_ key: String, _ work: @escaping @Sendable () async -> Void) {
    guard keys.withLock({ $0.count < Self.limit && $0.insert(key).inserted }) else { return }
    Task {
      await work()
      _ = keys.withLock { $0.remove(key) }
    }
  }
}
