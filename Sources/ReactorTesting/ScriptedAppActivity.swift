public import ReactorOperators
import Synchronization

/// An app that becomes active when the test says so.
public final class ScriptedAppActivity: AppActivity {
  private struct State {
    var nextID = 0
    var listeners: [Int: AsyncStream<Void>.Continuation] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  /// How many streams of ``becameActive`` are open: neither cancelled nor let go.
  public var openStreams: Int { state.withLock { $0.listeners.count } }

  /// Every open stream gets an element, unless it has one that was not read yet.
  public func becomeActive() {
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield() }
  }

  public var becameActive: AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = continuation
      return state.nextID
    }
    continuation.onTermination = { [weak self] _ in self?.close(id) }
    return stream
  }

  private func close(_ id: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }

  deinit { state.withLock { Array($0.listeners.values) }.forEach { $0.finish() } }
}
