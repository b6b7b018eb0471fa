import Synchronization

/// Delivers events to the observers of a layer, in the order in which they happened.
///
/// An event is queued under the lock of the state that it belongs to, and delivered after that lock
/// is released. A thread delivers if no other thread is delivering. Calls of observers therefore
/// never overlap, and an observer that causes events gets them after the current one.
///
/// A thread's work for others is bounded: after ``bound`` events that were queued meanwhile, a task
/// of the hub continues. The queue is bounded too: beyond ``capacity``, events are lost, and one
/// ``ReactorEvent/Kind/dropped(_:)`` in their place reports how many.
final class EventHub: Sendable {
  /// The number of other threads' events that a thread delivers after its own.
  static let bound = 64
  /// The largest number of events in the queue.
  static let capacity = 16_384

  let shared = Shared()
  /// The executor of the task that delivers; `nil` for the global executor.
  private let executor: (any TaskExecutor)?

  init(executor: (any TaskExecutor)? = nil) { self.executor = executor }

  deinit { shared.end() }

  /// The part that tokens and sequences reach without retaining the hub. They hold no weak
  /// reference to the hub, which would slow down its reference counting several times.
  final class Shared: Sendable {
    fileprivate let isListening = Atomic<Bool>(false)
    fileprivate let state = Mutex(State())
  }

  fileprivate struct State {
    /// The observers, in the order in which they were added.
    var observers: [Observer] = []
    var queue: [ReactorEvent] = []
    /// The number of events lost since the queue was full, and the event that reports it. The lost
    /// events are not retained: an error may hold user objects, whose `deinit` must not run under
    /// the lock.
    var lost = (count: 0, told: ReactorEvent?.none)
    var isDelivering = false
    /// The number of the delivery that began last.
    var delivery = 0
    /// The callers of ``EventHub/flush()``, with the delivery that each waits for.
    var flushing: [(delivery: Int, continuation: CheckedContinuation<Void, Never>)] = []
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
      delivery += 1
      return (queue, observers)
    }

    /// Takes out the callers whose delivery has finished.
    mutating func flushed() -> [CheckedContinuation<Void, Never>] {
      guard !flushing.isEmpty else { return [] }
      defer { flushing.removeAll { $0.delivery <= delivery } }
      return flushing.filter { $0.delivery <= delivery }.map(\.continuation)
    }
  }

  fileprivate struct Observer {
    let ending: Ending
    /// Calls the observer, unless its observation has ended.
    let notify: @Sendable (ReactorEvent) -> Void
    /// Called when the hub is released.
    let end: @Sendable () -> Void
  }

  /// The end of an observation, as its token sees it.
  fileprivate final class Ending: Sendable {
    /// A Boolean value that indicates whether the observation has ended. The observer then gets no
    /// more events, even from a delivery under way.
    let isReached = Atomic<Bool>(false)
  }

  /// A Boolean value that indicates whether there are observers. It costs one atomic load, and no
  /// event is created without an observer.
  var hasObservers: Bool { shared.isListening.load(ordering: .relaxed) }

  func observe(_ body: @escaping @Sendable (ReactorEvent) -> Void) -> ModelLayer.ObservationToken {
    shared.observe(body)
  }

  /// Observes until `owner` is released. The next event then ends the observation.
  func observe<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    shared.observe(for: owner, body)
  }

  /// Queues `event`. Call ``deliver()`` next, once no lock is held.
  func append(_ event: @autoclosure () -> ReactorEvent) {
    guard hasObservers else { return }
    let event = event()
    shared.state.withLock { state in
      // The last observer may have left since the check.
      if !state.observers.isEmpty { state.put(event) }
    }
  }

  /// Delivers the queued events, unless another thread is delivering.
  func deliver() {
    guard hasObservers else { return }
    deliver(
      shared.state.withLock { state in
        guard !state.isDelivering, !state.queue.isEmpty else { return nil }
        state.isDelivering = true
        return state.nextBatch()
      })
  }

  /// The right to deliver, which one thread has at a time. Call ``deliver(_:in:)`` next.
  struct Turn {
    fileprivate let observers: [Observer]
  }

  /// Begins the turn for an event. Locks may be held. The event is created only if it must be
  /// queued: with ``deliver(_:in:)``, this costs less than ``append(_:)`` and ``deliver()`` if
  /// nothing else is under way.
  ///
  /// - Returns: `nil` if another thread delivers the event, or if there are no observers.
  func beginTurn(orEnqueue event: @autoclosure () -> ReactorEvent) -> Turn? {
    shared.state.withLock { state in
      guard !state.observers.isEmpty else { return nil }
      guard !state.isDelivering, state.queue.isEmpty else {
        state.put(event())
        return nil
      }
      state.isDelivering = true
      state.delivery += 1
      return Turn(observers: state.observers)
    }
  }

  /// Delivers the event of the turn, and the events that were queued meanwhile. No lock may be
  /// held.
  func deliver(_ event: ReactorEvent, in turn: Turn) {
    Self.call(turn.observers, event)
    deliverMore()
  }

  /// Delivers the caller's own events, and the events that were queued meanwhile.
  private func deliver(_ own: Batch?) {
    guard let own else { return }
    Self.call(own)
    deliverMore()
  }

  /// Delivers until the queue is empty, or hands over to a task at the bound. Observers that are
  /// added or removed meanwhile count from the next batch at the latest.
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
          // Other tasks need the thread too.
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
    // No caller awaits an observer's tasks, so they must not share the keys of the work that
    // emitted the event.
    guard LockOwner.current == nil else {
      return LockOwner.$current.withValue(nil) { call(observers, event) }
    }
    for index in observers.indices { observers[index].notify(event) }
  }

  /// Returns the events that were queued meanwhile; `nil` if the queue is empty, which ends the
  /// delivery.
  private func finish() -> Batch? {
    let (batch, flushed): (Batch?, [CheckedContinuation<Void, Never>]) = shared.state.withLock { state in
      let flushed = state.flushed()
      guard state.queue.isEmpty else { return (state.nextBatch(), flushed) }
      state.isDelivering = false
      return (nil, flushed)
    }
    for caller in flushed { caller.resume() }
    return batch
  }

  /// Returns after the observers were called with each event that was queued before. Events that
  /// come meanwhile do not prolong it.
  func flush() async {
    deliver()
    await withCheckedContinuation { continuation in
      let isWaiting = shared.state.withLock { state in
        // A delivery in progress has the events that precede the queue.
        if state.isDelivering {
          state.flushing.append((state.delivery + (state.queue.isEmpty ? 0 : 1), continuation))
        }
        return state.isDelivering
      }
      if !isWaiting { continuation.resume() }
    }
  }
}

extension EventHub.Shared {
  /// Adds an observer.
  ///
  /// - Parameter end: called when the hub is released, or at once if it already was. Not called
  ///   after the token has ended the observation.
  func observe(
    _ body: @escaping @Sendable (ReactorEvent) -> Void, end: @escaping @Sendable () -> Void = {}
  ) -> ModelLayer.ObservationToken {
    let ending = EventHub.Ending()
    add(
      EventHub.Observer(
        ending: ending, notify: { if !ending.isReached.load(ordering: .acquiring) { body($0) } }, end: end))
    // The closure of an observer often owns its token, so the token retains neither closure.
    return ModelLayer.ObservationToken { [self] in
      ending.isReached.store(true, ordering: .releasing)
      remove(ending)
    }
  }

  func observe<Owner: AnyObject & Sendable>(
    for owner: Owner, _ body: @escaping @Sendable (Owner, ReactorEvent) -> Void
  ) {
    let ending = EventHub.Ending()
    // A retain cycle until the owner or the hub is released.
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

  /// Ends every observation: the hub is released.
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
    // Released at the end, without the lock: the `deinit` of a user's object may cancel another
    // token.
    return withExtendedLifetime(released) { released.observers }
  }
}
