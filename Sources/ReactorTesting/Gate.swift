import Synchronization

/// A point at which tasks wait until the test lets them continue.
///
/// ```swift
/// let gate = Gate()
/// let task = Task { try await gate.wait() }
/// try await gate.waitForArrival()   // the task waits at the gate
/// gate.open()
/// try await task.value
/// ```
public final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var nextID = 0
    /// The waiters, in the order of arrival.
    var waiters: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  }

  private let state: Mutex<State>
  private let arrivals = Tally()

  /// Creates a gate, closed by default.
  public init(isOpen: Bool = false) { state = Mutex(State(isOpen: isOpen)) }

  /// A Boolean value that indicates whether tasks pass without waiting.
  public var isOpen: Bool { state.withLock { $0.isOpen } }
  /// The number of tasks that wait at the gate.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }
  /// The number of tasks that have arrived so far, including tasks that have passed.
  public var arrivalCount: Int { arrivals.value }

  /// Lets all waiters through, and all tasks that arrive until ``close()``.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// Makes the tasks that arrive from now on wait.
  public func close() { state.withLock { $0.isOpen = false } }

  /// Lets the first waiter through. The gate stays closed; without a waiter, nothing happens.
  ///
  /// ```swift
  /// try await gate.waitForArrival(count: 2)
  /// gate.letOneThrough()
  /// ```
  public func letOneThrough() {
    let first = state.withLock { $0.waiters.isEmpty ? nil : $0.waiters.removeFirst() }
    first?.continuation.resume()
  }

  /// Waits until the gate is open.
  ///
  /// ```swift
  /// let transport = ScriptedTransport { _, _ in
  ///   try await gate.wait()
  ///   return .json("[]")
  /// }
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled, even if the gate is open.
  public func wait() async throws {
    let id = makeID()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        arrive(id, continuation, endsWhenCancelled: true)
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
      }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Waits until the gate is open, even if the task is cancelled. For work that cannot be
  /// abandoned.
  public func waitIgnoringCancellation() async {
    let id = makeID()
    // The continuation throws only for a waiter that ends when cancelled.
    try? await withCheckedThrowingContinuation { continuation in
      arrive(id, continuation, endsWhenCancelled: false)
    }
  }

  /// Returns once `count` tasks have arrived, counted from the gate's creation.
  ///
  /// ```swift
  /// let task = Task { try await gate.wait() }
  /// try await gate.waitForArrival()
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitForArrival(count: Int = 1) async throws { try await arrivals.wait(for: count) }

  private func makeID() -> Int {
    state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
  }

  private func arrive(_ id: Int, _ continuation: CheckedContinuation<Void, any Error>, endsWhenCancelled: Bool) {
    let result: Result<Void, any Error>? = state.withLock { state in
      if endsWhenCancelled, Task.isCancelled { return .failure(CancellationError()) }
      if state.isOpen { return .success(()) }
      state.waiters.append((id, continuation))
      return nil
    }
    arrivals.add(1)
    if let result { continuation.resume(with: result) }
  }
}
