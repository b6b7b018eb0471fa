public import ReactorCore
import Synchronization

/// Connectivity as the test sets it.
public final class ScriptedReachability: Reachability {
  private struct State {
    var isReachable: Bool
    var timesAsked = 0
    var nextID = 0
    /// In the order in which they began.
    var listeners: [(id: Int, continuation: AsyncStream<Bool>.Continuation)] = []
  }

  private let state: Mutex<State>
  /// Counts down with each stream, and up with its end.
  private let closed = Tally()

  public init(_ isReachable: Bool = true) { state = Mutex(State(isReachable: isReachable)) }

  public var isReachable: Bool {
    state.withLock { state in
      state.timesAsked += 1
      return state.isReachable
    }
  }

  /// How often ``isReachable`` was read.
  public var timesAsked: Int { state.withLock { $0.timesAsked } }
  /// How many streams of ``changes`` are open: neither cancelled nor let go.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Returns once no stream is open: at once where none is.
  ///
  /// - Throws: `CancellationError`, at once when the task is cancelled.
  public func waitUntilNobodyListens() async throws { try await closed.wait(for: 0) }

  /// Sets connectivity; every open stream gets it, in the order in which they began, unless it is what was known before.
  public func set(_ isReachable: Bool) {
    state.withLock { state in
      guard state.isReachable != isReachable else { return }
      state.isReachable = isReachable
      // Under the lock, so that every stream sees the changes in their order; to yield runs nobody's code.
      for listener in state.listeners { listener.continuation.yield(isReachable) }
    }
  }

  public var changes: AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self)
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners.append((state.nextID, continuation))
      continuation.yield(state.isReachable)
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
