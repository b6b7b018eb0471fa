import Foundation
import Synchronization

/// A one-time event that tasks and the threads of a ``LoopbackServer`` can wait for.
package final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var nextID = 0
    var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
  }

  private let state = Mutex(State())
  private let readEnd: Int32
  private let writeEnd: Int32

  package init() {
    var ends: [Int32] = [-1, -1]
    if pipe(&ends) != 0 { ends = [-1, -1] }
    readEnd = ends[0]
    writeEnd = ends[1]
  }

  deinit {
    close(readEnd)
    close(writeEnd)
  }

  package var isOpen: Bool { state.withLock(\.isOpen) }

  /// The number of tasks that are suspended in ``wait()``.
  package var waiterCount: Int { state.withLock(\.waiters.count) }

  /// Opens the latch for good: resumes all waiters, and lets later ones pass.
  package func open() {
    let waiters = state.withLock { state in
      defer { state.waiters = [:] }
      if !state.isOpen { _ = write(writeEnd, [UInt8(1)], 1) }
      state.isOpen = true
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once the latch is open.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled before that.
  package func wait() async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if state.isOpen { return .success(()) }
          if Task.isCancelled { return .failure(CancellationError()) }
          state.waiters[id] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
    }
  }

  /// Blocks the thread until the latch is open.
  package func block() {
    var polled = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
    while poll(&polled, 1, -1) < 0 && errno == EINTR {}
  }

  /// A descriptor that becomes readable when the latch opens, for `poll`.
  var descriptor: Int32 { readEnd }
}
