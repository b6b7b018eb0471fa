import Synchronization

/// Carries events to whoever observes a layer: lossless, in the order in which they happened.
///
/// An event is put down under the lock of the state it belongs to, and delivered after that is unlocked. Whoever finds
/// nobody delivering does so, for everyone; so no two observers' calls overlap, and an observer that causes events
/// gets them after the one it is in.
final class EventHub: Sendable {
  private let shared = Shared()

  deinit { shared.removeAll() }

  /// What tokens reach without keeping the hub. They have no weak reference to it: whatever has one is counted several times as slowly.
  fileprivate final class Shared: Sendable {
    let isListening = Atomic<Bool>(false)
    let state = Mutex(State())
  }

  fileprivate struct State {
    /// In the order in which they came.
    var observers: [Observer] = []
    var queue: [ReactorEvent] = []
    var isDelivering = false

    mutating func takeBatch() -> Batch {
      defer { queue = [] }
      return (queue, observers)
    }
  }

  fileprivate struct Observer {
    let ending: Ending
    /// Tells it, unless it has left.
    let tell: @Sendable (ReactorEvent) -> Void
  }

  /// What a token keeps of its observer.
  fileprivate final class Ending: Sendable {
    /// Once it is, the observer gets nothing more, whatever is under way.
    let isReached = Atomic<Bool>(false)
  }

  /// Whether anyone listens; one atomic load, so that without a listener no event is made.
  var hasObservers: Bool { shared.isListening.load(ordering: .relaxed) }

  func observe(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken {
    let ending = Ending()
    shared.add(Observer(ending: ending) { if !ending.isReached.load(ordering: .acquiring) { body($0) } })
    // A token is often kept by what its observer calls: it keeps neither.
    return EventToken { [shared] in
      ending.isReached.store(true, ordering: .releasing)
      shared.remove(ending)
    }
  }

  /// Puts `event` down; to be followed by ``deliver()`` once no lock is held.
  func append(_ event: @autoclosure () -> ReactorEvent) {
    guard hasObservers else { return }
    let event = event()
    shared.state.withLock { state in
      // The last observer may have left meanwhile.
      if !state.observers.isEmpty { state.queue.append(event) }
    }
  }

  /// Calls the observers with what was put down, unless another thread is at it.
  func deliver() {
    guard hasObservers else { return }
    deliver(
      shared.state.withLock { state in
        guard !state.isDelivering, !state.queue.isEmpty else { return nil }
        state.isDelivering = true
        return state.takeBatch()
      })
  }

  /// The right to deliver, which is one thread's at a time; to be followed by ``deliver(_:in:)``.
  struct Turn {
    fileprivate let observers: [Observer]
  }

  /// Takes the turn for an event, under a lock it may be. The event is made only where it has to wait: with ``deliver(_:in:)`` this costs
  /// less than ``append(_:)`` and ``deliver()`` where nothing else is under way.
  ///
  /// - Returns: `nil` where somebody else delivers it, or nobody listens.
  func takeTurn(elsePutDown event: @autoclosure () -> ReactorEvent) -> Turn? {
    shared.state.withLock { state in
      guard !state.observers.isEmpty else { return nil }
      guard !state.isDelivering, state.queue.isEmpty else {
        state.queue.append(event())
        return nil
      }
      state.isDelivering = true
      return Turn(observers: state.observers)
    }
  }

  /// Calls the observers with the event that the turn was taken for, and with what came meanwhile. No lock is held.
  func deliver(_ event: ReactorEvent, in turn: Turn) {
    Self.call(turn.observers, event)
    deliver(finish())
  }

  /// Goes on until nothing is left. An observer that leaves meanwhile, or comes, is seen to with the next batch at the latest.
  private func deliver(_ batch: Batch?) {
    var next = batch
    while let batch = next {
      for event in batch.events { Self.call(batch.observers, event) }
      next = finish()
    }
  }

  fileprivate typealias Batch = (events: [ReactorEvent], observers: [Observer])

  private static func call(_ observers: [Observer], _ event: ReactorEvent) {
    for index in observers.indices { observers[index].tell(event) }
  }

  /// What came meanwhile; `nil` where nothing did: then nobody delivers any more.
  private func finish() -> Batch? {
    shared.state.withLock { state in
      guard state.queue.isEmpty else { return state.takeBatch() }
      state.isDelivering = false
      return nil
    }
  }
}

extension EventHub.Shared {
  func add(_ observer: EventHub.Observer) {
    state.withLock { state in
      state.observers.append(observer)
      isListening.store(true, ordering: .relaxed)
    }
  }

  func remove(_ ending: EventHub.Ending) { remove { $0.ending === ending } }

  func removeAll() { remove { _ in true } }

  private func remove(_ isGone: (EventHub.Observer) -> Bool) {
    let released = state.withLock { state -> EventHub.State in
      var released = EventHub.State()
      released.observers = state.observers.filter(isGone)
      state.observers.removeAll(where: isGone)
      guard state.observers.isEmpty else { return released }
      isListening.store(false, ordering: .relaxed)
      swap(&released.queue, &state.queue)
      return released
    }
    // Let go of only now: what an observer or an event holds may cancel another token as it goes.
    withExtendedLifetime(released) {}
  }
}
