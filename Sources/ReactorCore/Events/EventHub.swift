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
    var observers: [UInt64: @Sendable (ReactorEvent) -> Void] = [:]
    var queue: [ReactorEvent] = []
    var isDelivering = false
    var nextID: UInt64 = 0
  }

  /// Whether anyone listens; one atomic load, so that without a listener no event is made.
  var hasObservers: Bool { isListening.load(ordering: .relaxed) }

  func observe(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken {
    let id = state.withLock { state in
      state.nextID += 1
      state.observers[state.nextID] = body
      isListening.store(true, ordering: .relaxed)
      return state.nextID
    }
    return EventToken { [weak self] in self?.remove(id) }
  }

  /// Puts `event` down; to be followed by ``deliver()`` once no lock is held.
  func append(_ event: @autoclosure () -> ReactorEvent) {
    guard hasObservers else { return }
    let event = event()
    state.withLock { $0.queue.append(event) }
  }

  /// Calls the observers with what was put down, unless another thread is at it.
  func deliver() {
    guard hasObservers else { return }
    while true {
      let batch = state.withLock { state -> (events: [ReactorEvent], observers: [@Sendable (ReactorEvent) -> Void])? in
        guard !state.isDelivering, !state.queue.isEmpty else { return nil }
        state.isDelivering = true
        defer { state.queue = [] }
        return (state.queue, state.observers.sorted { $0.key < $1.key }.map(\.value))
      }
      guard let batch else { return }
      for event in batch.events {
        for observer in batch.observers { observer(event) }
      }
      state.withLock { $0.isDelivering = false }
    }
  }

  private func remove(_ id: UInt64) {
    // What is removed ends after the lock: it is its user's.
    _ = state.withLock { state in
      let observer = state.observers.removeValue(forKey: id)
      guard state.observers.isEmpty else { return (observer, [] as [ReactorEvent]) }
      isListening.store(false, ordering: .relaxed)
      defer { state.queue = [] }
      return (observer, state.queue)
    }
  }
}
