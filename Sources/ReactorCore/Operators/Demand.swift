import Synchronization

/// Whether another run is wanted, as a sequence says; it is followed from the beginning to the end of this object's life.
final class Demand: Sendable {
  private let state = DemandState()
  private let task: Task<Void, Never>

  init<Signals: AsyncSequence & Sendable>(_ signals: Signals, isWanted: @escaping @Sendable (Signals.Element) -> Bool)
  where Signals.Failure == Never {
    // Made here, so that what is signalled from now on is not missed.
    let iterator = Parcel(signals.makeAsyncIterator())
    // The task holds the state, not this object, so that it ends with this object.
    task = spawn(on: nil, for: LockOwner.current) { [state] in
      if var iterator = iterator.take() {
        while !Task.isCancelled, let signal = await iterator.next(isolation: nil) { state.set(isWanted(signal)) }
      }
      state.end()
    }
  }

  deinit { task.cancel() }

  /// Whether one is wanted now.
  var isWanted: Bool { state.isWanted }

  /// What was wanted until now is done.
  func clear() { state.set(false) }

  /// Returns once a run is wanted; `false` where none will be: the sequence has ended, or the task is cancelled.
  func wait() async -> Bool { await state.wait() }
}

private final class DemandState: Sendable {
  private struct State {
    var isWanted = false
    var hasEnded = false
    var isCancelled = false
    var waiter: CheckedContinuation<Bool, Never>?

    /// What a waiter is told now; `nil`: to wait.
    var answer: Bool? {
      if isCancelled { return false }
      if isWanted { return true }
      return hasEnded ? false : nil
    }
  }

  private let state = Mutex(State())

  var isWanted: Bool { state.withLock(\.isWanted) }

  func set(_ isWanted: Bool) { change { $0.isWanted = isWanted } }
  func end() { change { $0.hasEnded = true } }

  func wait() async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state in
          if state.answer == nil { state.waiter = continuation }
          return state.answer
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      change { $0.isCancelled = true }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let (waiter, answer) = state.withLock { state in
      body(&state)
      guard let answer = state.answer else { return (CheckedContinuation<Bool, Never>?.none, false) }
      return (state.waiter.take(), answer)
    }
    waiter?.resume(returning: answer)
  }
}
