import Synchronization

/// A value that comes once, for one task that waits.
final class FleetSignal: Sendable {
  private enum State: Sendable {
    case empty
    case waiting(CheckedContinuation<Void, Never>)
    case sent
  }

  private let state = Mutex(State.empty)

  func send() {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      defer { state = .sent }
      if case .waiting(let waiter) = state { return waiter }
      return nil
    }
    waiter?.resume()
  }

  /// Waits until the signal is sent, or the task is cancelled.
  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isSent = state.withLock { state -> Bool in
          if case .sent = state { return true }
          state = .waiting(continuation)
          return false
        }
        if isSent { continuation.resume() }
      }
    } onCancel: {
      send()
    }
  }
}
