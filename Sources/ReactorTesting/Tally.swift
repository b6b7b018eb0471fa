import Synchronization

/// A counter that tasks can wait for.
package final class Tally: Sendable {
  private struct Waiter {
    let id: Int
    let count: Int
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var value = 0
    var nextID = 0
    var waiters: [Waiter] = []

    /// Removes and returns the waiters whose count is reached.
    mutating func takeReady() -> [Waiter] {
      let ready = waiters.filter { $0.count <= value }
      waiters.removeAll { $0.count <= value }
      return ready
    }
  }

  private let state = Mutex(State())

  package init() {}

  package var value: Int { state.withLock { $0.value } }

  package func add(_ change: Int) {
    let ready = state.withLock { state in
      state.value += change
      return state.takeReady()
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  /// Returns once the counter is at least `count`.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  package func wait(for count: Int) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.value >= count { return .success(()) }
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }
}
