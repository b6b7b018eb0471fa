#if SQLite
  import Synchronization

  /// Operations that arrive while another is performed wait, and are then performed together: as one transaction.
  ///
  /// Whoever finds nobody at work leads: it lets those come that are about to, performs its own operation with those
  /// that wait, on its own thread, tells each how it ended, and hands over to one that has come meanwhile. So there is
  /// no task of the queue's own, and nobody works for others for ever.
  final class SQLiteWriteQueue<Operation: Sendable>: Sendable {
    private enum Turn {
      case lead
      case done(Result<Void, any Error>)
    }

    private struct Waiter {
      var operation: Operation
      var continuation: CheckedContinuation<Turn, Never>
    }

    private struct State {
      var isLed = false
      var waiters: [Waiter] = []
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

    /// How many wait for the one who leads.
    var waiterCount: Int { state.withLock(\.waiters.count) }

    /// Returns when the operation was performed. Cancellation does not stop it.
    ///
    /// - Throws: the operation's own error.
    func run(_ operation: Operation) async throws {
      if takesLead() {
        // Those that are about to come, come first: without this, a burst on one core is so many transactions.
        await Task.yield()
        return try lead(operation).get()
      }
      let turn = await withCheckedContinuation { continuation in
        let leads = state.withLock { state in
          guard state.isLed else {
            state.isLed = true
            return true
          }
          state.waiters.append(Waiter(operation: operation, continuation: continuation))
          return false
        }
        if leads { continuation.resume(returning: .lead) }
      }
      switch turn {
      case .lead: try lead(operation).get()
      case .done(let result): try result.get()
      }
    }

    /// Performs the operation where nobody is at work; else does nothing.
    func runIfIdle(_ operation: Operation) {
      if takesLead() { _ = lead(operation) }
    }

    private func takesLead() -> Bool {
      state.withLock { state in
        defer { state.isLed = true }
        return !state.isLed
      }
    }

    private func lead(_ operation: Operation) -> Result<Void, any Error> {
      let others = takeWaiters(limit - weight(operation))
      let results = perform([operation] + others.map(\.operation))
      for (waiter, result) in zip(others, results.dropFirst()) { waiter.continuation.resume(returning: .done(result)) }
      let next = state.withLock { state -> Waiter? in
        state.isLed = !state.waiters.isEmpty
        return state.isLed ? state.waiters.removeFirst() : nil
      }
      next?.continuation.resume(returning: .lead)
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
#endif
