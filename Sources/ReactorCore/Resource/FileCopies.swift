import Dispatch
import Synchronization

/// Copies files on threads of its own. A disk may block a thread for long, and the threads of the
/// cooperative pool run every task of the program.
package final class FileCopies: Sendable {
  /// The copies of this process.
  package static let shared = FileCopies()

  /// The number of copies that are made at once, a power of two. More of them wait.
  static let limit = 4
  private let queues = (0..<limit).map { DispatchQueue(label: "reactor.copies.\($0)") }
  private let turn = Atomic<Int>(0)

  init() {}

  /// One copy, as its caller and its thread see it.
  private final class Copy: Sendable {
    private let state = Mutex((hasBegun: false, isCancelled: false))

    /// Returns `false` if the caller has left.
    func begin() -> Bool {
      state.withLock { state in
        state.hasBegun = !state.isCancelled
        return state.hasBegun
      }
    }

    /// Returns `true` if the copy has not begun.
    func cancel() -> Bool {
      state.withLock { state in
        state.isCancelled = true
        return !state.hasBegun
      }
    }

    func check() throws { if state.withLock(\.isCancelled) { throw CancellationError() } }
  }

  /// Runs `body` on a thread that may block; in a task with an executor of the program's, on that
  /// executor, which the program has chosen for its work.
  ///
  /// A cancelled caller that still waits for its turn leaves at once. Later, it leaves when `body`
  /// ends.
  ///
  /// - Parameter body: The copy. It calls `check` between its pieces, which throws
  ///   `CancellationError` once the caller is cancelled.
  /// - Throws: The error of `body`, or `CancellationError`.
  package func run<Value: Sendable>(
    _ body: @escaping @Sendable (_ check: () throws -> Void) throws -> Value
  ) async throws -> Value {
    if withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor }) != nil {
      return try body { try Task.checkCancellation() }
    }
    let (copy, shot) = (Copy(), OneShot<Result<Value, any Error>>())
    let queue = queues[turn.wrappingAdd(1, ordering: .relaxed).newValue & (Self.limit - 1)]
    return try await withTaskCancellationHandler {
      queue.async {
        guard copy.begin() else { return }
        shot.settle(Result { try body(copy.check) })
      }
      return try await shot.value.get()
    } onCancel: {
      if copy.cancel() { shot.settle(.failure(CancellationError())) }
    }
  }
}
