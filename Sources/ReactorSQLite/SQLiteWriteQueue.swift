#if SQLite
  import Synchronization

  /// A queue that performs concurrent operations together, as one transaction.
  ///
  /// Each caller adds its operation and yields once, so that other callers can add theirs. The
  /// first caller that then runs and finds the queue idle becomes the leader. On its own thread, it
  /// performs its operation together with the waiting ones. The others wait, and the leader then
  /// wakes the most urgent caller whose operation is left.
  ///
  /// So the queue needs no task, and no caller works for others indefinitely. A caller that is slow
  /// to run does not delay the rest, because only a running caller becomes the leader.
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
      /// The operations that no leader has taken.
      var waiters: [Waiter] = []
      /// The callers that are suspended until the leader is done. Other callers are still running.
      var parked: [UInt64: CheckedContinuation<Outcome?, Never>] = [:]
      /// The outcomes of operations that were performed before their callers suspended.
      var outcomes: [UInt64: Outcome] = [:]
    }

    private let state = Mutex(State())
    private let limit: Int
    private let weight: @Sendable (Operation) -> Int
    private let perform: @Sendable ([Operation]) -> [Result<Void, any Error>]

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - limit: The greatest weight of operations that are performed together. A single operation
    ///     may weigh more.
    ///   - weight: Returns the weight of an operation.
    ///   - perform: Performs operations and returns their results in the same order. One thread at
    ///     a time calls it.
    init(
      limit: Int, weight: @escaping @Sendable (Operation) -> Int,
      perform: @escaping @Sendable ([Operation]) -> [Result<Void, any Error>]
    ) {
      self.limit = limit
      self.weight = weight
      self.perform = perform
    }

    /// The number of operations that no leader has taken.
    var waiterCount: Int { state.withLock(\.waiters.count) }

    /// The number of callers that are suspended.
    var suspendedCount: Int { state.withLock(\.parked.count) }

    /// Performs an operation, alone or with others. Returns when it is done. Cancellation does not
    /// stop it.
    ///
    /// - Throws: The error of the operation.
    func run(_ operation: Operation) async throws {
      let id = state.withLock { state in
        state.lastID += 1
        state.waiters.append(Waiter(id: state.lastID, operation: operation, priority: Task.currentPriority))
        return state.lastID
      }
      // Lets other callers add their operations. Otherwise a burst on one core would take a
      // transaction each.
      await Task.yield()
      while true {
        if let outcome = performOwn(id) { return try outcome.get() }
        if let outcome = await wait(id) { return try outcome.get() }
      }
    }

    /// Performs an operation if the queue is idle. Otherwise drops it.
    func runIfIdle(_ operation: Operation) {
      guard state.withLock({ $0.begin() }) else { return }
      _ = lead(operation)
    }

    /// Performs the caller's operation together with others. Returns `nil` if the queue is busy or
    /// the operation was taken.
    private func performOwn(_ id: UInt64) -> Outcome? {
      let operation: Operation? = state.withLock { state in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }), state.begin() else { return nil }
        return state.waiters.remove(at: index).operation
      }
      return operation.map { lead($0) }
    }

    /// Suspends until a leader has performed the operation or wakes the caller.
    ///
    /// - Returns: The outcome, or `nil` if the caller should try again.
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
    /// Marks the queue as busy. Returns `false` if it was busy already.
    fileprivate mutating func begin() -> Bool {
      guard !isBusy else { return false }
      isBusy = true
      return true
    }

    /// Marks the queue as idle.
    ///
    /// - Returns: The callers to resume: callers whose operations were performed, with their
    ///   outcomes, and the most urgent remaining caller with `nil`.
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
      // The first of the most urgent callers.
      let urgent = waiters.filter { parked[$0.id] != nil }.max { $0.priority < $1.priority }
      if let urgent, let continuation = parked.removeValue(forKey: urgent.id) { woken.append((continuation, nil)) }
      return woken
    }
  }
#endif
