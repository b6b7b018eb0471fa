public import ReactorCore
import Synchronization

/// Connectivity under the control of a test.
///
/// ```swift
/// let reachability = ScriptedReachability()
/// let layer = ModelLayer(baseURL: api, transport: transport, reachability: reachability)
/// reachability.set(false)
/// ```
public final class ScriptedReachability: Reachability {
  private struct State {
    var isReachable: Bool
    var timesAsked = 0
    var nextID = 0
    /// The open streams, in the order in which they began.
    var listeners: [(id: Int, continuation: AsyncStream<Bool>.Continuation)] = []
  }

  private let state: Mutex<State>
  /// Counts down with each new stream, and up with its end.
  private let closed = Tally()

  /// Creates a reachability, reachable by default.
  public init(_ isReachable: Bool = true) { state = Mutex(State(isReachable: isReachable)) }

  /// The value that was set last. Each read counts in ``timesAsked``.
  public var isReachable: Bool {
    state.withLock { state in
      state.timesAsked += 1
      return state.isReachable
    }
  }

  /// The number of times that ``isReachable`` was read.
  public var timesAsked: Int { state.withLock { $0.timesAsked } }
  /// The number of streams of ``changes`` that are neither cancelled nor released.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Returns once no stream is open.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilNobodyListens() async throws { try await closed.wait(for: 0) }

  /// Sets connectivity. If it changes, every open stream gets the value, in the order in which the
  /// streams began.
  ///
  /// ```swift
  /// reachability.set(false)  // streams pause
  /// ```
  public func set(_ isReachable: Bool) {
    state.withLock { state in
      guard state.isReachable != isReachable else { return }
      state.isReachable = isReachable
      // Yielding under the lock gives every stream the changes in order. It runs no foreign code.
      for listener in state.listeners { listener.continuation.yield(isReachable) }
    }
  }

  /// A new stream, which begins with the current value and yields each change.
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
    // The continuation is released after the lock.
    let listener = state.withLock { state in
      state.listeners.firstIndex { $0.id == id }.map { state.listeners.remove(at: $0) }
    }
    if listener != nil { closed.add(1) }
  }

  deinit { state.withLock { $0.listeners }.forEach { $0.continuation.finish() } }
}
