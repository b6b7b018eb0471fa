import Synchronization

/// A place where tasks stop until the test lets them go on.
///
/// ```swift
/// let gate = Gate()
/// let task = Task { try await gate.wait() }
/// try await gate.waitForArrival()   // the task stands at the gate
/// gate.open()
/// try await task.value
/// ```
public final class Gate: Sendable {
  private struct State {
    var isOpen: Bool
    var nextID = 0
    /// In the order of arrival.
    var waiters: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
  }

  private let state: Mutex<State>
  private let arrivals = Tally()

  public init(isOpen: Bool = false) { state = Mutex(State(isOpen: isOpen)) }

  /// A Boolean value that indicates whether tasks pass without stopping.
  public var isOpen: Bool { state.withLock { $0.isOpen } }
  /// How many tasks stand at the gate now.
  public var waitingCount: Int { state.withLock { $0.waiters.count } }
  /// How many tasks have come to the gate, those that have passed it included.
  public var arrivalCount: Int { arrivals.value }

  /// Lets all through who wait, and all who come until ``close()``.
  public func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// Stops whoever comes from now on.
  public func close() { state.withLock { $0.isOpen = false } }

  /// Lets the one through that came first; the gate stays as it is. Nothing happens where nobody waits.
  public func letOneThrough() {
    let first = state.withLock { $0.waiters.isEmpty ? nil : $0.waiters.removeFirst() }
    first?.continuation.resume()
  }

  /// Stops until the gate is open.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled, even where the gate is open.
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

  /// Stops until the gate is open, cancelled or not: for work that cannot be called back.
  public func waitIgnoringCancellation() async {
    let id = makeID()
    // The continuation throws only for a waiter that ends when cancelled.
    try? await withCheckedThrowingContinuation { continuation in
      arrive(id, continuation, endsWhenCancelled: false)
    }
  }

  /// Returns once `count` tasks have come to the gate, counted from its beginning.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
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
