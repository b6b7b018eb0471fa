import Synchronization

/// Carries events to whoever observes a layer: lossless, in the order in which they happened.
///
/// An event is put down under the lock of the state it belongs to, and delivered after that is unlocked. Whoever finds
/// nobody delivering does so, for everyone; so no two observers' calls overlap, and an observer that causes events
/// gets them after the one it is in.
final class EventHub: Sendable {
  private let isListening = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    /// In the order in which they came.
    var observers: [Observer] = []
    var queue: [ReactorEvent] = []
    var isDelivering = false

    mutating func takeBatch() -> Batch {
      defer { queue = [] }
      return (queue, observers)
    }
  }

  fileprivate final class Observer: Sendable {
    let body: @Sendable (ReactorEvent) -> Void
    /// Once it is, it gets nothing more, whatever is under way.
    let isCancelled = Atomic<Bool>(false)

    init(_ body: @escaping @Sendable (ReactorEvent) -> Void) { self.body = body }
  }

  /// Whether anyone listens; one atomic load, so that without a listener no event is made.
  var hasObservers: Bool { isListening.load(ordering: .relaxed) }

  func observe(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken {
    let observer = Observer(body)
    state.withLock { state in
      state.observers.append(observer)
      isListening.store(true, ordering: .relaxed)
    }
    // A token is often kept by what its observer calls: it keeps neither.
    return EventToken { [weak self, weak observer] in
      guard let observer else { return }
      observer.isCancelled.store(true, ordering: .releasing)
      self?.remove(observer)
    }
  }

  /// Puts `event` down; to be followed by ``deliver()`` once no lock is held.
  func append(_ event: @autoclosure () -> ReactorEvent) {
    guard hasObservers else { return }
    let event = event()
    state.withLock { state in
      // The last observer may have left meanwhile.
      if !state.observers.isEmpty { state.queue.append(event) }
    }
  }

  /// Calls the observers with what was put down, unless another thread is at it.
  func deliver() {
    guard hasObservers else { return }
    deliver(
      state.withLock { state in
        guard !state.isDelivering, !state.queue.isEmpty else { return nil }
        state.isDelivering = true
        return state.takeBatch()
      })
  }

  /// An event whose turn it is.
  struct Sending {
    fileprivate let event: ReactorEvent
    fileprivate let observers: [Observer]
  }

  /// Puts `event` down, under a lock it may be; to be followed by ``end(_:)`` once no lock is held. It costs less than ``append(_:)`` and
  /// ``deliver()`` where nothing else is under way.
  ///
  /// - Returns: `nil` where somebody else delivers it.
  func begin(_ event: ReactorEvent) -> Sending? {
    let observers = state.withLock { state -> [Observer]? in
      guard !state.isDelivering, state.queue.isEmpty else {
        state.queue.append(event)
        return nil
      }
      guard !state.observers.isEmpty else { return nil }
      state.isDelivering = true
      return state.observers
    }
    return observers.map { Sending(event: event, observers: $0) }
  }

  /// Calls the observers with what was begun, and with what came meanwhile.
  func end(_ sending: Sending) {
    Self.call(sending.observers, sending.event)
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

  private typealias Batch = (events: [ReactorEvent], observers: [Observer])

  private static func call(_ observers: [Observer], _ event: ReactorEvent) {
    for observer in observers where !observer.isCancelled.load(ordering: .acquiring) { observer.body(event) }
  }

  /// What came meanwhile; `nil` where nothing did: then nobody delivers any more.
  private func finish() -> Batch? {
    state.withLock { state in
      guard state.queue.isEmpty else { return state.takeBatch() }
      state.isDelivering = false
      return nil
    }
  }

  private func remove(_ observer: Observer) {
    let released = state.withLock { state -> [ReactorEvent] in
      state.observers.removeAll { $0 === observer }
      guard state.observers.isEmpty else { return [] }
      isListening.store(false, ordering: .relaxed)
      defer { state.queue = [] }
      return state.queue
    }
    // Let go of only now: what an event holds may cancel another token as it goes.
    withExtendedLifetime(released) {}
  }
}
