public import ReactorOperators
import Synchronization

/// App activity under the control of a test.
///
/// ```swift
/// let activity = ScriptedAppActivity()
/// layer.refetchInForeground(activity: activity)
/// activity.becomeActive()
/// ```
public final class ScriptedAppActivity: AppActivity {
  private struct Listener {
    let isOfLeaving: Bool
    let continuation: AsyncStream<Void>.Continuation
  }

  private struct State {
    var nextID = 0
    var listeners: [Int: Listener] = [:]
  }

  private let state = Mutex(State())

  /// Creates an app activity without open streams.
  public init() {}

  /// The number of streams of ``becameActive`` that are neither cancelled nor released.
  public var openStreams: Int { state.withLock { $0.listeners.values.count { !$0.isOfLeaving } } }

  /// Yields an element to every open stream. A stream that has an unread element gets no second
  /// one.
  public func becomeActive() {
    tell(isLeaving: false)
  }

  /// Yields an element to every open stream of ``leftActive``, as ``becomeActive()`` does.
  public func leave() {
    tell(isLeaving: true)
  }

  private func tell(isLeaving: Bool) {
    let listeners = state.withLock { $0.listeners.values.filter { $0.isOfLeaving == isLeaving } }
    for listener in listeners { listener.continuation.yield() }
  }

  /// A new stream, which yields an element for each ``becomeActive()`` from now on.
  public var becameActive: AsyncStream<Void> { open(isOfLeaving: false) }

  /// A new stream, which yields an element for each ``leave()`` from now on.
  public var leftActive: AsyncStream<Void> { open(isOfLeaving: true) }

  private func open(isOfLeaving: Bool) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.nextID += 1
      state.listeners[state.nextID] = Listener(isOfLeaving: isOfLeaving, continuation: continuation)
      return state.nextID
    }
    continuation.onTermination = { [weak self] _ in self?.close(id) }
    return stream
  }

  private func close(_ id: Int) { state.withLock { _ = $0.listeners.removeValue(forKey: id) } }

  deinit { state.withLock { Array($0.listeners.values) }.forEach { $0.continuation.finish() } }
}
