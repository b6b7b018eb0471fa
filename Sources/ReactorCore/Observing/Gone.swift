import Synchronization

/// The wait of a stream that has nothing more to say: it ends with its subscriber, by cancellation.
final class Gone: Sendable {
  private struct State {
    var isFirst = true
    var isCancelled = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// `true` once.
  var isFirst: Bool {
    state.withLock { state in
      defer { state.isFirst = false }
      return state.isFirst
    }
  }

  func untilCancelled() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // Of two that wait at once, which no iterator is made for, the earlier gets the end.
        let due: CheckedContinuation<Void, Never>? = state.withLock { state in
          if state.isCancelled { return continuation }
          defer { state.waiter = continuation }
          return state.waiter
        }
        due?.resume()
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.isCancelled = true
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume()
    }
  }
}
