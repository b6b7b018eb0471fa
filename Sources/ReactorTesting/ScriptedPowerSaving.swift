public import ReactorCore
import Synchronization

/// Low power as the test sets it.
public final class ScriptedPowerSaving: PowerSaving {
  private struct State {
    var isOn: Bool
    var nextID = 0
    /// In the order in which they began.
    var listeners: [(id: Int, continuation: AsyncStream<Bool>.Continuation)] = []
  }

  private let state: Mutex<State>
  /// Counts down with each stream, and up with its end.
  private let closed = Tally()

  public init(_ isOn: Bool = false) { state = Mutex(State(isOn: isOn)) }

  public var isOn: Bool { state.withLock { $0.isOn } }

  /// How many streams of ``updates`` are open: neither cancelled nor let go.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Returns once no stream is open: at once where none is.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitUntilNobodyListens() async throws { try await closed.wait(for: 0) }

  /// Sets it; every open stream gets it, in the order in which they began, unless it is what was known before.
  public func set(_ isOn: Bool) {
    state.withLock { state in
      guard state.isOn != isOn else { return }
      state.isOn = isOn
      // Under the lock, so that every stream sees the changes in their order; to yield runs nobody's code.
      for listener in state.listeners { listener.continuation.yield(isOn) }
    }
  }

  public var updates: AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners.append((state.nextID, continuation))
      continuation.yield(state.isOn)
      return state.nextID
    }
    closed.add(-1)
    continuation.onTermination = { [weak self] _ in self?.close(id) }
    return stream
  }

  private func close(_ id: Int) {
    // What is removed is let go after the lock.
    let listener = state.withLock { state in
      state.listeners.firstIndex { $0.id == id }.map { state.listeners.remove(at: $0) }
    }
    if listener != nil { closed.add(1) }
  }

  deinit { state.withLock { $0.listeners }.forEach { $0.continuation.finish() } }
}
