import Dispatch
import Synchronization

/// Copies files on threads of its own. A disk may block a thread for long, and the threads of the
/// cooperative pool run every task of the program.
package final class FileCopies: Sendable {
  /// The copies of this process.
  package static let shared = FileCopies()

  /// The number of copies that are made at once. More of them wait.
  static let limit = 4

  private struct State {
    /// The threads without a copy.
    var idle = (0..<limit).map { DispatchQueue(label: "reactor.copies.\($0)") }
    /// The copies that wait, by the order in which they came.
    var waiting: [Int: Copy] = [:]
    var first = 0
    var end = 0

    /// - Returns: The place, with which the copy can leave.
    mutating func enqueue(_ copy: Copy) -> Int {
      waiting[end] = copy
      defer { end += 1 }
      return end
    }

    mutating func next() -> Copy? {
      while first < end {
        defer { first += 1 }
        if let copy = waiting.removeValue(forKey: first) { return copy }
      }
      return nil
    }
  }

  private let state = Mutex(State())

  init() {}

  /// One copy, as its caller and its thread see it.
  private final class Copy: Sendable {
    private let state = Mutex((hasBegun: false, isCancelled: false))
    private let work: @Sendable (Copy) -> Void

    init(_ work: @escaping @Sendable (Copy) -> Void) { self.work = work }

    func run() { if begin() { work(self) } }

    /// Returns `false` if the caller has left.
    private func begin() -> Bool {
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
    let shot = OneShot<Result<Value, any Error>>()
    let copy = Copy { copy in shot.settle(Result { try body(copy.check) }) }
    return try await withTaskCancellationHandler {
      let place = start(copy)
      // Else it would wait for its turn with all that it holds.
      defer { if let place { state.withLock { $0.waiting[place] = nil } } }
      return try await shot.value.get()
    } onCancel: {
      if copy.cancel() { shot.settle(.failure(CancellationError())) }
    }
  }

  /// Starts a copy on a thread that has nothing to do, however long the others take.
  ///
  /// - Returns: The place of the copy among those that wait; `nil` if it does not.
  private func start(_ copy: Copy) -> Int? {
    let (thread, place) = state.withLock { state -> (DispatchQueue?, Int?) in
      if let thread = state.idle.popLast() { return (thread, nil) }
      return (nil, state.enqueue(copy))
    }
    thread?.async { self.run(copy, on: thread) }
    return place
  }

  /// Runs copies until none waits.
  private func run(_ first: Copy, on thread: DispatchQueue?) {
    var copy: Copy? = first
    while let current = copy {
      current.run()
      copy = state.withLock { state in
        let next = state.next()
        if next == nil, let thread { state.idle.append(thread) }
        return next
      }
    }
  }
}
