public import ReactorCore
import Synchronization

/// Low power mode under the control of a test.
public final class ScriptedPowerSaving: PowerSaving {
  private struct State {
    var isOn: Bool
    var nextID = 0
    /// The open streams, in the order in which they began.
    var listeners: [(id: Int, continuation: AsyncStream<Bool>.Continuation)] = []
  }

  private let state: Mutex<State>
  /// Counts down with each new stream, and up with its end.
  private let closed = Tally()

  /// Creates a source of low power mode, off by default.
  public init(_ isOn: Bool = false) { state = Mutex(State(isOn: isOn)) }

  /// The value that was set last.
  public var isOn: Bool { state.withLock { $0.isOn } }

  /// The number of open streams of ``updates``: those neither cancelled nor released.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Returns once no stream is open, at once if none is.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilNobodyListens() async throws { try await closed.wait(for: 0) }

  /// Sets the value. If it changes, every open stream gets it, in the order in which the streams
  /// began.
  public func set(_ isOn: Bool) {
    state.withLock { state in
      guard state.isOn != isOn else { return }
      state.isOn = isOn
      // Yielding under the lock gives every stream the changes in order. It runs no foreign code.
      for listener in state.listeners { listener.continuation.yield(isOn) }
    }
  }

  /// A new stream, which begins with the current value and yields each change.
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
    // The continuation is released after the lock.
    let listener = state.withLock { state in
      state.listeners.firstIndex { $0.id == id }.map { state.listeners.remove(at: $0) }
    }
    if listener != nil { closed.add(1) }
  }

  deinit { state.withLock { $0.listeners }.forEach { $0.continuation.finish() } }
}
