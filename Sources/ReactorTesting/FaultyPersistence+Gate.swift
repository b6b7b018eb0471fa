import Synchronization

extension FaultyPersistence {
  /// A point at which one call waits until the test opens it.
  ///
  /// ```swift
  /// let gate = persistence.hold(.save)
  /// try await gate.reached()
  /// // The record is being saved.
  /// gate.open()
  /// ```
  public final class Gate: Sendable {
    private let arrival = Release()
    private let release = Release()
    private let endsWhenCancelled: Bool

    init(endsWhenCancelled: Bool) { self.endsWhenCancelled = endsWhenCancelled }

    /// Returns once the call has arrived, even if it no longer waits.
    ///
    /// - Throws: `CancellationError`, as soon as the task is cancelled.
    public func reached() async throws { try await arrival.wait(endsWhenCancelled: true) }

    /// A Boolean value that indicates whether the call has arrived.
    public var isReached: Bool { arrival.isOpen }

    /// Lets the call continue. A call that arrives later does not wait.
    public func open() { release.open(.success(())) }

    func crash() { release.open(.failure(Crashed())) }

    func pass() async throws {
      arrival.open(.success(()))
      try await release.wait(endsWhenCancelled: endsWhenCancelled)
    }
  }
}

/// A latch that opens once, with a result. All waiters get the result, including later ones.
private final class Release: Sendable {
  private struct State {
    var result: Result<Void, any Error>?
    var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  var isOpen: Bool { state.withLock { $0.result != nil } }

  func open(_ result: Result<Void, any Error>) {
    let waiting = state.withLock { state in
      state.result = state.result ?? result
      defer { state.waiting = [:] }
      return state.waiting
    }
    for continuation in waiting.values { continuation.resume(with: result) }
  }

  func wait(endsWhenCancelled: Bool) async throws {
    let number = state.withLock { state in
      state.count += 1
      return state.count
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let result = state.withLock { state -> Result<Void, any Error>? in
          if let result = state.result { return result }
          // Checked under the lock, so that a later cancellation finds the continuation.
          if endsWhenCancelled && Task.isCancelled { return .failure(CancellationError()) }
          state.waiting[number] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      guard endsWhenCancelled else { return }
      let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
      continuation?.resume(throwing: CancellationError())
    }
  }
}
