#if SQLite
  import Dispatch
  import Synchronization

  /// The accesses to one database. While it is suspended, no access runs or starts.
  final class SQLiteAccesses: Sendable {
    private let path: String
    private let state = Mutex((isSuspended: false, suspensions: 0, resumptions: 0))
    /// The accesses under way. One enters under the lock, so none enters after a suspension.
    private let running = DispatchGroup()
    private let patience: Duration
    private let refuses: @Sendable () -> Void

    /// - Parameters:
    ///   - patience: The time after which a suspension interrupts what is under way, each time.
    ///   - refuses: Called when a suspension has begun to refuse accesses.
    init(_ path: String, patience: Duration, refuses: @escaping @Sendable () -> Void = {}) {
      self.path = path
      self.patience = patience
      self.refuses = refuses
    }

    /// Runs `body` as an access.
    ///
    /// - Throws: The error of `body`; ``SQLitePersistenceError/suspended(path:)``.
    func run<Value>(_ body: () throws -> Value) throws -> Value {
      try state.withLock { state in
        guard !state.isSuspended else { throw SQLitePersistenceError.suspended(path: path) }
        running.enter()
      }
      defer { running.leave() }
      return try body()
    }

    /// Returns the number of suspensions.
    ///
    /// - Throws: ``SQLitePersistenceError/suspended(path:)`` during one.
    func suspensions() throws -> Int {
      let state = state.withLock(\.self)
      guard !state.isSuspended else { throw SQLitePersistenceError.suspended(path: path) }
      return state.suspensions
    }

    /// Verifies that the store was not suspended since.
    ///
    /// - Parameter suspensions: The number of suspensions before.
    /// - Throws: ``SQLitePersistenceError/suspended(path:)``, also after ``resume()``.
    func check(since suspensions: Int) throws {
      if state.withLock(\.suspensions) != suspensions { throw SQLitePersistenceError.suspended(path: path) }
    }

    /// Refuses accesses, and waits until the running ones are finished, or ``resume()`` is called.
    ///
    /// - Parameter interrupt: A closure that makes the statements under way fail. It is called
    ///   again each time, since an access may begin another one, such as a compaction.
    func suspend(interrupting interrupt: () -> Void) {
      let resumptions = state.withLock { state in
        if !state.isSuspended { state.suspensions += 1 }
        state.isSuspended = true
        return state.resumptions
      }
      refuses()
      while running.wait(timeout: .now() + patience / .seconds(1)) == .timedOut {
        guard state.withLock({ $0.resumptions == resumptions }) else { return }
        interrupt()
      }
    }

    func resume() {
      state.withLock { state in
        state.isSuspended = false
        state.resumptions += 1
      }
    }
  }
#endif
