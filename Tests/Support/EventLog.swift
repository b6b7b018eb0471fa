public import ReactorCore
public import ReactorTesting
import Synchronization
public import Testing

/// What happened, in order; a test may wait for a thing to happen. An order that cannot be is an issue.
public final class EventLog: Sendable {
  private struct Waiter {
    let isMet: @Sendable ([String]) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var events: [ReactorEvent] = []
    var lines: [String] = []
    var waiters: [Waiter] = []
  }

  private let state = Mutex(State())
  private let token = Mutex<EventToken?>(nil)

  private let recorder: EventRecorder

  public init(
    _ layer: ModelLayer, except exceptions: Set<EventRecorder.Exception> = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    recorder = EventRecorder(layer, except: exceptions, sourceLocation: sourceLocation)
    token.withLock { $0 = layer.observeEvents { [weak self] in self?.add($0) } }
  }

  public init<Model>(
    _ reactor: Reactor<Model>, except exceptions: Set<EventRecorder.Exception> = [],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    recorder = EventRecorder(reactor, except: exceptions, sourceLocation: sourceLocation)
    token.withLock { $0 = reactor.observeEvents { [weak self] in self?.add($0) } }
  }

  public var events: [ReactorEvent] { state.withLock { $0.events } }
  /// Each event's kind, in words.
  public var lines: [String] { state.withLock { $0.lines } }

  /// How many events begin with `prefix`.
  public func count(_ prefix: String) -> Int { lines.count { $0.hasPrefix(prefix) } }

  /// Returns once `count` events that begin with `prefix` have happened.
  public func wait(for prefix: String, count: Int = 1) async {
    await wait { lines in lines.count { $0.hasPrefix(prefix) } >= count }
  }

  public func wait(until isMet: @escaping @Sendable ([String]) -> Bool) async {
    await withCheckedContinuation { continuation in
      let isMetAlready = state.withLock { state in
        if isMet(state.lines) { return true }
        state.waiters.append(Waiter(isMet: isMet, continuation: continuation))
        return false
      }
      if isMetAlready { continuation.resume() }
    }
  }

  private func add(_ event: ReactorEvent) {
    let met = state.withLock { state in
      state.events.append(event)
      state.lines.append(event.kind.description)
      let lines = state.lines
      let met = state.waiters.filter { $0.isMet(lines) }
      state.waiters.removeAll { $0.isMet(lines) }
      return met
    }
    for waiter in met { waiter.continuation.resume() }
  }
}
