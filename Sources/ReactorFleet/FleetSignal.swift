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

/// The read of a record that concurrent requests of one server share.
final class FleetReading: Sendable {
  struct ID: Hashable {
    var record: FleetRecordID
    var known: FleetVersion?
    /// A read in an earlier epoch does not count as a comparison in this one.
    var epoch: Int
  }

  private struct State {
    var isOver = false
    var view: FleetStoredRecord?
    var waiters: [FleetSignal] = []
  }

  private let state = Mutex(State())

  func end(_ view: FleetStoredRecord?) {
    let waiters = state.withLock { state in
      (state.isOver, state.view) = (true, view)
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.send() }
  }

  /// Returns the record, once it is read; `nil` if that has failed, or the task is cancelled.
  func view() async -> FleetStoredRecord? {
    let signal = FleetSignal()
    let isOver = state.withLock { state in
      if !state.isOver { state.waiters.append(signal) }
      return state.isOver
    }
    if !isOver { await signal.wait() }
    return state.withLock(\.view)
  }
}
