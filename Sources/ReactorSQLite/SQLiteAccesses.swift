#if SQLite
  import Dispatch
  import Synchronization

  /// The accesses to one database. While it is suspended, none is under way and none begins.
  final class SQLiteAccesses: Sendable {
    private let path: String
    private let isSuspended = Mutex(false)
    /// The accesses under way. One enters under the lock, so none enters after a suspension.
    private let running = DispatchGroup()
    /// The time after which a suspension interrupts what is under way.
    private static let patience: Double = 1

    init(_ path: String) { self.path = path }

    /// Runs `body` as an access.
    ///
    /// - Throws: The error of `body`; ``SQLitePersistenceError/suspended(path:)``.
    func run<Value>(_ body: () throws -> Value) throws -> Value {
      try isSuspended.withLock { isSuspended in
        guard !isSuspended else { throw SQLitePersistenceError.suspended(path: path) }
        running.enter()
      }
      defer { running.leave() }
      return try body()
    }

    /// Refuses accesses, and waits until those under way have ended.
    ///
    /// - Parameter interrupt: A closure that makes the statements under way fail. It is called if
    ///   they take more than a second, as a compaction may.
    func suspend(interrupting interrupt: () -> Void) {
      isSuspended.withLock { $0 = true }
      guard running.wait(timeout: .now() + Self.patience) == .timedOut else { return }
      interrupt()
      running.wait()
    }

    func resume() { isSuspended.withLock { $0 = false } }
  }
#endif
