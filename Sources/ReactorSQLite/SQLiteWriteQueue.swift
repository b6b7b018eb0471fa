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
      /// How many are still to lead without waiting for others.
      var atOnce = 0
      /// What that was set to last, and none since others came.
      var lastAtOnce = 0
    }

    private let state = Mutex(State())
    /// How many lead without waiting, at most, before one waits again: a burst on one core is at most so many transactions more.
    private static var mostAtOnce: Int { 15 }
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
      if let waits = takesLead() {
        // Those that are about to come, come first: without this, a burst on one core is so many transactions.
        if waits { await Task.yield() }
        return try lead(operation, afterWaiting: waits).get()
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
      if takesLead() != nil { _ = lead(operation) }
    }

    /// `nil` where another leads; else whether to wait for others before.
    private func takesLead() -> Bool? {
      state.withLock { state in
        guard !state.isLed else { return nil }
        state.isLed = true
        guard state.atOnce > 0 else { return true }
        state.atOnce -= 1
        return false
      }
    }

    /// - Parameter waited: whether others were let come before. Where none came, the next do not wait, for a while: it takes two
    ///   changes of threads.
    private func lead(_ operation: Operation, afterWaiting waited: Bool = false) -> Result<Void, any Error> {
      let others = takeWaiters(limit - weight(operation), waited)
      let results = perform([operation] + others.map(\.operation))
      for (waiter, result) in zip(others, results.dropFirst()) { waiter.continuation.resume(returning: .done(result)) }
      let next = state.withLock { state -> Waiter? in
        state.isLed = !state.waiters.isEmpty
        return state.isLed ? state.waiters.removeFirst() : nil
      }
      next?.continuation.resume(returning: .lead)
      return results[0]
    }

    private func takeWaiters(_ limit: Int, _ waited: Bool) -> [Waiter] {
      state.withLock { state in
        if !state.waiters.isEmpty {
          (state.atOnce, state.lastAtOnce) = (0, 0)
        } else if waited {
          state.lastAtOnce = min(state.lastAtOnce * 2 + 1, Self.mostAtOnce)
          state.atOnce = state.lastAtOnce
        }
        var rest = limit
        let end = state.waiters.firstIndex { waiter in
          rest -= weight(waiter.operation)
          return rest < 0
        }
        let later = end.map { Array(state.waiters[$0...]) } ?? []
        defer { state.waiters = later }
        state.waiters.removeLast(later.count)
        return state.waiters
      }
    }
  }
#endif
