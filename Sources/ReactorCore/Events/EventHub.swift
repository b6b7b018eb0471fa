import Synchronization

/// Carries events to the observers of a layer, in the order in which they happened.
///
/// An event is put down under the lock of the state it belongs to, and delivered after that is unlocked. Whoever finds
/// nobody delivering does so; so no two observers' calls overlap, and an observer that causes events gets them after the
/// one it is in.
///
/// Nobody works for others without a bound: after ``bound`` events that came meanwhile, a task of the hub's own goes on.
/// The queue is bounded too: beyond ``capacity`` events are lost, and one ``ReactorEvent/Kind/dropped(_:)`` in their place
/// says how many.
final class EventHub: Sendable {
  /// The number of other threads' events that a thread delivers after its own.
  static let bound = 64
  /// The largest number of events that wait.
  static let capacity = 16_384

  let shared = Shared()
  /// Runs the task that delivers; `nil` is the global executor.
  private let executor: (any TaskExecutor)?

  init(executor: (any TaskExecutor)? = nil) { self.executor = executor }

  deinit { shared.end() }

  /// The part that tokens and sequences reach without keeping the hub. They have no weak reference to it: whatever has one is
  /// counted several times as slowly.
  final class Shared: Sendable {
    fileprivate let isListening = Atomic<Bool>(false)
    fileprivate let state = Mutex(State())
  }

  fileprivate struct State {
    /// In the order in which they came.
    var observers: [Observer] = []
    var queue: [ReactorEvent] = []
    /// The number of events that came after the queue was full, and the event that tells it. The lost ones are not kept: an
    /// error in one may hold objects of a user, and these must not end under the lock.
    var lost = (count: 0, told: ReactorEvent?.none)
    var isDelivering = false
    var hasEnded = false

    mutating func put(_ event: ReactorEvent) {
      guard queue.count >= EventHub.capacity else { return queue.append(event) }
      let count = lost.count + 1
      lost = (count, ReactorEvent(key: event.key, model: event.model, kind: .dropped(count)))
    }

    mutating func nextBatch() -> Batch {
      if let told = lost.told {
        queue.append(told)
        lost = (0, nil)
      }
      defer { queue = [] }
      return (queue, observers)
    }
  }

  fileprivate struct Observer {
    let ending: Ending
    /// Tells it, unless it has left.
    let notify: @Sendable (ReactorEvent) -> Void
    /// Called when the hub is gone.
    let end: @Sendable () -> Void
  }

  /// What a token keeps of its observer.
  fileprivate final class Ending: Sendable {
    /// Once it is, the observer gets nothing more, whatever is under way.
    let isReached = Atomic<Bool>(false)
  }

  /// A Boolean value that indicates whether anyone listens; one atomic load, so that without a
  /// listener no event is made.
  var hasObservers: Bool { shared.isListening.load(ordering: .relaxed) }

  func observe(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> EventToken { shared.observe(body) }

  /// Observes until `owner` is gone: from then on the next event ends it.
  func observe<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    shared.observe(for: owner, body)
  }

  /// Puts `event` down; to be followed by ``deliver()`` once no lock is held.
  func append(_ event: @autoclosure () -> ReactorEvent) {
    guard hasObservers else { return }
    let event = event()
    shared.state.withLock { state in
      // The last observer may have left meanwhile.
      if !state.observers.isEmpty { state.put(event) }
    }
  }

  /// Calls the observers with what was put down, unless another thread is at it.
  func deliver() {
    guard hasObservers else { return }
    deliver(
      shared.state.withLock { state in
        guard !state.isDelivering, !state.queue.isEmpty else { return nil }
        state.isDelivering = true
        return state.nextBatch()
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
  func beginTurn(orEnqueue event: @autoclosure () -> ReactorEvent) -> Turn? {
    shared.state.withLock { state in
      guard !state.observers.isEmpty else { return nil }
      guard !state.isDelivering, state.queue.isEmpty else {
        state.put(event())
        return nil
      }
      state.isDelivering = true
      return Turn(observers: state.observers)
    }
  }

  /// Calls the observers with the event that the turn was taken for, and with what came meanwhile. No lock is held.
  func deliver(_ event: ReactorEvent, in turn: Turn) {
    Self.call(turn.observers, event)
    deliverMore()
  }

  /// Calls the observers with what its caller has put down, and with what came meanwhile.
  private func deliver(_ own: Batch?) {
    guard let own else { return }
    Self.call(own)
    deliverMore()
  }

  /// Goes on until nothing is left, or a task has more to do than may be asked of whoever is here. An observer that leaves
  /// meanwhile, or comes, is seen to with the next batch at the latest.
  private func deliverMore() {
    var rest = Self.bound
    while let batch = finish() {
      guard batch.events.count <= rest else { return handOver(batch) }
      rest -= batch.events.count
      Self.call(batch)
    }
  }

  private func handOver(_ batch: Batch) {
    _ = spawnApart(on: executor) { [self] in
      var next: Batch? = batch
      while let batch = next {
        for start in stride(from: 0, to: batch.events.count, by: Self.bound) {
          Self.call((Array(batch.events[start..<min(start + Self.bound, batch.events.count)]), batch.observers))
          // Others want the thread too.
          await Task.yield()
        }
        next = finish()
      }
    }
  }

  fileprivate typealias Batch = (events: [ReactorEvent], observers: [Observer])

  private static func call(_ batch: Batch) {
    for event in batch.events { call(batch.observers, event) }
  }

  private static func call(_ observers: [Observer], _ event: ReactorEvent) {
    for index in observers.indices { observers[index].notify(event) }
  }

  /// What came meanwhile; `nil` where nothing did: then nobody delivers any more.
  private func finish() -> Batch? {
    shared.state.withLock { state in
      guard state.queue.isEmpty else { return state.nextBatch() }
      state.isDelivering = false
      return nil
    }
  }
}

extension EventHub.Shared {
  /// - Parameter end: called when the hub is gone, at once where it is already; not after the token has ended it.
  func observe(
    _ body: @escaping @Sendable (ReactorEvent) -> Void, end: @escaping @Sendable () -> Void = {}
  ) -> EventToken {
    let ending = EventHub.Ending()
    add(
      EventHub.Observer(
        ending: ending, notify: { if !ending.isReached.load(ordering: .acquiring) { body($0) } }, end: end))
    // A token is often kept by what its observer calls: it keeps neither.
    return EventToken { [self] in
      ending.isReached.store(true, ordering: .releasing)
      remove(ending)
    }
  }

  func observe<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    let ending = EventHub.Ending()
    // It keeps what keeps it, until one of them is gone: the owner, or the hub.
    let notify: @Sendable (ReactorEvent) -> Void = { [self, weak owner] event in
      guard let owner else { return remove(ending) }
      body(owner, event)
    }
    add(EventHub.Observer(ending: ending, notify: notify, end: {}))
  }

  private func add(_ observer: EventHub.Observer) {
    let hasEnded = state.withLock { state in
      guard !state.hasEnded else { return true }
      state.observers.append(observer)
      isListening.store(true, ordering: .relaxed)
      return false
    }
    if hasEnded { observer.end() }
  }

  private func remove(_ ending: EventHub.Ending) { _ = remove { $0.ending === ending } }

  /// The hub is gone.
  fileprivate func end() {
    state.withLock { $0.hasEnded = true }
    for observer in remove({ _ in true }) { observer.end() }
  }

  private func remove(_ isGone: (EventHub.Observer) -> Bool) -> [EventHub.Observer] {
    let released = state.withLock { state -> EventHub.State in
      var released = EventHub.State()
      released.observers = state.observers.filter(isGone)
      state.observers.removeAll(where: isGone)
      guard state.observers.isEmpty else { return released }
      isListening.store(false, ordering: .relaxed)
      swap(&released.queue, &state.queue)
      swap(&released.lost, &state.lost)
      return released
    }
    // Let go of only when this is over: what an observer or an event holds may cancel another token as it goes.
    return withExtendedLifetime(released) { released.observers }
  }
}
