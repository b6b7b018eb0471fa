#if SQLite
  import Synchronization

  /// Operations that arrive while another is performed wait, and are then performed together: as one transaction.
  ///
  /// Each puts its operation down and lets those come that are about to. Whoever runs first then, and finds nobody at work,
  /// performs its own operation with those that wait, on its own thread. The others wait until that is over; the most urgent
  /// of those that are left is woken. So there is no task of the queue's own, nobody works for others for ever, and nobody
  /// who is slow to run holds up the rest: the lead is taken by who runs, and is never promised to who does not.
  final class SQLiteWriteQueue<Operation: Sendable>: Sendable {
    fileprivate typealias Outcome = Result<Void, any Error>

    fileprivate struct Waiter {
      let id: UInt64
      let operation: Operation
      let priority: TaskPriority
    }

    fileprivate struct State {
      var isBusy = false
      var lastID: UInt64 = 0
      /// Those that nobody has begun to perform.
      var waiters: [Waiter] = []
      /// Those that wait for the one who is at work; the others are on their way.
      var parked: [UInt64: CheckedContinuation<Outcome?, Never>] = [:]
      /// Of those that were performed while they were on their way.
      var outcomes: [UInt64: Outcome] = [:]
    }

    private let state = Mutex(State())
    private let limit: Int
    private let weight: @Sendable (Operation) -> Int
    private let perform: @Sendable ([Operation]) -> [Result<Void, any Error>]

    /// - Parameters:
    ///   - limit: what operations that are performed together may weigh; one alone may weigh more.
    ///   - weight: what an operation weighs.
    ///   - perform: called by one thread at a time; returns how each operation ended, in their order.
    init(
      limit: Int, weight: @escaping @Sendable (Operation) -> Int,
      perform: @escaping @Sendable ([Operation]) -> [Result<Void, any Error>]
    ) {
      self.limit = limit
      self.weight = weight
      self.perform = perform
    }

    /// How many are not performed yet.
    var waiterCount: Int { state.withLock(\.waiters.count) }

    /// Returns when the operation was performed. Cancellation does not stop it.
    ///
    /// - Throws: the operation's own error.
    func run(_ operation: Operation) async throws {
      let id = state.withLock { state in
        state.lastID += 1
        state.waiters.append(Waiter(id: state.lastID, operation: operation, priority: Task.currentPriority))
        return state.lastID
      }
      // Those that are about to come, come first: without this, a burst on one core is so many transactions.
      await Task.yield()
      while true {
        if let outcome = performOwn(id) { return try outcome.get() }
        if let outcome = await wait(id) { return try outcome.get() }
      }
    }

    /// Performs the operation where nobody is at work; else does nothing.
    func runIfIdle(_ operation: Operation) {
      guard state.withLock({ $0.begin() }) else { return }
      _ = lead(operation)
    }

    /// Performs the waiter's operation, with those of others, unless somebody is at work.
    private func performOwn(_ id: UInt64) -> Outcome? {
      let operation: Operation? = state.withLock { state in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }), state.begin() else { return nil }
        return state.waiters.remove(at: index).operation
      }
      return operation.map { lead($0) }
    }

    /// - Returns: `nil` where the waiter is to try by itself.
    private func wait(_ id: UInt64) async -> Outcome? {
      await withCheckedContinuation { continuation in
        let answer: Outcome?? = state.withLock { state in
          if let outcome = state.outcomes.removeValue(forKey: id) { return .some(outcome) }
          guard state.isBusy else { return .some(nil) }
          state.parked[id] = continuation
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    }

    private func lead(_ operation: Operation) -> Outcome {
      let others = takeWaiters(limit - weight(operation))
      let results = perform([operation] + others.map(\.operation))
      for (waiter, outcome) in state.withLock({ $0.end(others, results) }) { waiter.resume(returning: outcome) }
      return results[0]
    }

    private func takeWaiters(_ limit: Int) -> [Waiter] {
      state.withLock { state in
        var rest = limit
        let others = state.waiters.prefix { waiter in
          rest -= weight(waiter.operation)
          return rest >= 0
        }
        state.waiters.removeFirst(others.count)
        return Array(others)
      }
    }
  }

  extension SQLiteWriteQueue.State {
    /// Returns whether there was nobody at work.
    fileprivate mutating func begin() -> Bool {
      guard !isBusy else { return false }
      isBusy = true
      return true
    }

    /// - Returns: whom to wake with what: those that were performed, and the most urgent of the rest, to try by itself.
    fileprivate mutating func end(
      _ performed: [SQLiteWriteQueue.Waiter], _ results: [Result<Void, any Error>]
    ) -> [(CheckedContinuation<SQLiteWriteQueue.Outcome?, Never>, SQLiteWriteQueue.Outcome?)] {
      isBusy = false
      var woken: [(CheckedContinuation<SQLiteWriteQueue.Outcome?, Never>, SQLiteWriteQueue.Outcome?)] = []
      for (waiter, result) in zip(performed, results.dropFirst()) {
        if let continuation = parked.removeValue(forKey: waiter.id) {
          woken.append((continuation, result))
        } else {
          outcomes[waiter.id] = result
        }
      }
      // The first of the most urgent.
      let urgent = waiters.filter { parked[$0.id] != nil }.max { $0.priority < $1.priority }
      if let urgent, let continuation = parked.removeValue(forKey: urgent.id) { woken.append((continuation, nil)) }
      return woken
    }
  }
#endif
