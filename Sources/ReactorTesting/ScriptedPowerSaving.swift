public import ReactorCore
import Synchronization

/// Low power mode under the control of a test.
///
/// ```swift
/// let power = ScriptedPowerSaving()
/// configuration.lowPower.source = power
/// power.set(true)
/// ```
public final class ScriptedPowerSaving: ReactorConfiguration.PowerSaving {
  /// The sending end of a stream. It does not keep the stream open.
  private struct Listener {
    let continuation: AsyncStream<Bool>.Continuation
    let calls: ReaderCalls

    func yield(_ isOn: Bool) {
      calls.sent()
      continuation.yield(isOn)
    }
  }

  private struct State {
    var isOn: Bool
    var nextID = 0
    /// The open streams, in the order in which they began.
    var listeners: [(id: Int, stream: Listener)] = []
  }

  private let state: Mutex<State>
  /// Counts down with each new stream, and up with its end.
  private let closed = Tally()

  /// Creates a source of low power mode, off by default.
  public init(_ isOn: Bool = false) { state = Mutex(State(isOn: isOn)) }

  /// The value that was set last.
  public var isOn: Bool { state.withLock { $0.isOn } }

  /// The number of streams of ``updates`` that are neither cancelled nor released.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Returns once no stream is open.
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilNobodyListens() async throws { try await closed.wait(for: 0) }

  /// Returns once each open stream has handled the current value: its reader has requested the next
  /// one, or was cancelled. At once if no stream is open.
  ///
  /// Reading ``updates`` opens a stream, even if no task iterates it yet.
  ///
  /// ```swift
  /// power.set(true)
  /// try await power.waitUntilHandled()
  /// clock.advance(by: .seconds(30))  // no poll: the stream pauses while power is saved
  /// ```
  ///
  /// - Throws: `CancellationError`, as soon as the task is cancelled.
  public func waitUntilHandled() async throws {
    for listener in state.withLock(\.listeners) { try await listener.stream.calls.waitUntilHandled() }
  }

  /// Sets the value. If it changes, every open stream gets it, in the order in which the streams
  /// began.
  public func set(_ isOn: Bool) {
    state.withLock { state in
      guard state.isOn != isOn else { return }
      state.isOn = isOn
      // Yielding under the lock gives every stream the changes in order. It runs no foreign code.
      for listener in state.listeners { listener.stream.yield(isOn) }
    }
  }

  /// A new stream, which begins with the current value and yields each change.
  public var updates: AsyncStream<Bool> {
    let stream = CountedStream<Bool>()
    let listener = Listener(continuation: stream.continuation, calls: stream.calls)
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners.append((state.nextID, listener))
      listener.yield(state.isOn)
      return state.nextID
    }
    closed.add(-1)
    listener.continuation.onTermination = { [weak self, calls = listener.calls] _ in
      calls.end()
      self?.close(id)
    }
    return stream.counted
  }

  private func close(_ id: Int) {
    // The continuation is released after the lock.
    let listener = state.withLock { state in
      state.listeners.firstIndex { $0.id == id }.map { state.listeners.remove(at: $0) }
    }
    if listener != nil { closed.add(1) }
  }

  deinit { state.withLock { $0.listeners }.forEach { $0.stream.continuation.finish() } }
}
