import Foundation
import Synchronization

/// What a ``Reactor`` is inside: the shell around the state machines. It locks, asks, unlocks, and only then does I/O, resumes
/// or calls anybody's code.
///
/// The path: ``hit(_:_:)`` asks memory on the caller's own executor. On a miss the caller joins the key's ``FlightMachine``, which runs in
/// tasks of its own: load, request, save (`ReactorEngine+Fetching`, `EngineState+Flights`).
@usableFromInline final class ReactorEngine: Sendable {
  let flow: ReactorFlow<AnyModel>
  let layer: LayerContext
  /// The model's, for events.
  let name: String
  /// The clock's time since the reactor was made.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until that time.
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  /// What is asked before the lock is.
  let reader: MemoryReader
  /// Guards everything that changes.
  let state: Mutex<EngineState>
  /// Not under the lock, for which a thousand callers of one key wait.
  private let lastID = Atomic<UInt64>(0)

  init<Model>(_ flow: ReactorFlow<Model>) {
    let flow = flow.erased
    self.flow = flow
    // Most are short enough to need no memory, unless they are interpolated.
    name = String(describing: Model.self)
    layer = flow.layer
    let configuration = flow.configuration
    (elapsed, sleep) = Self.stopwatch(configuration.clock)
    reader = MemoryReader(configuration, elapsed: elapsed)
    state = Mutex(EngineState(flow.layer, configuration, reader, name: name))
    layer.add(self)
    flow.decoded.connect { [weak self] key in
      // What is stored is another's, even where it has the same times.
      self?.state.withLock { state in state.memory.entries[key].flatMap { $0.isOutdated ? nil : $0.copy } }
    }
  }

  deinit {
    state.withLock { state in
      state.sweeper?.cancel()
      state.reachabilityWatcher?.cancel()
      state.powerWatcher?.cancel()
    }
  }

  private static func stopwatch<C: Clock<Duration>>(
    _ clock: C
  ) -> (elapsed: @Sendable () -> Duration, sleep: @Sendable (Duration) async throws -> Void) {
    let start = clock.now
    return ({ start.duration(to: clock.now) }, { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) })
  }

  /// The wall clock's time. Not to be asked for under a lock.
  var now: Date { reader.rule.steps.now() }

  /// Of a waiter, which is a caller or a stream.
  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  /// Changes the state under the lock, then delivers the events and runs the effects.
  func update<Result: Sendable>(_ change: (inout EngineState) -> Result) -> Result {
    let time = elapsed()
    let date = flow.configuration.revalidatesWhenStale ? now : nil
    let (result, effects) = state.withLock { state in
      state.begin(at: time, date)
      let result = change(&state)
      return (result, state.consumeEffects())
    }
    layer.events.deliver()
    for effect in effects { run(effect) }
    return result
  }

  private func run(_ effect: Effect) {
    switch effect {
    case .resume(let continuation, let outcome): continuation.resume(returning: outcome)
    case .deliver(let continuation, let snapshot): continuation.resume(returning: snapshot)
    case .start(let step): start(step)
    case .add(let wait, let owner): KeyedAsyncLock.add(wait, to: owner)
    case .cancel(let tasks): for task in tasks { task.cancel() }
    case .escalate(let tasks, let priority): for task in tasks { task.escalate(to: priority) }
    case .sweep(let task): startSweeping(task)
    case .watchReachability(let task): startWatchingReachability(task)
    case .watchPower(let task): startWatchingPower(task)
    case .wakeUp(let task, let key, let time): startWakeup(task, key, at: time)
    case .release: break
    }
  }
}

extension ReactorEngine {
  /// What memory has for `resource`, where the policy is content with it. Never suspends.
  @usableFromInline func hit(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    guard layer.events.hasObservers else { return reader.hit(resource, policy) }
    // Bound only here: it is a reference more, and most hits have no listener.
    let events = layer.events
    var due: (turn: EventHub.Turn, key: RecordKey)?
    let model = reader.hit(resource, policy) { key in
      due = events.beginTurn(orEnqueue: memoryHit(of: key)).map { ($0, key) }
    }
    // Taken and not copied, here as in the hub: counting references is what an event costs.
    if let (turn, key) = due.take() { events.deliver(memoryHit(of: key), in: turn) }
    return model
  }

  private func memoryHit(of key: consuming RecordKey) -> ReactorEvent {
    ReactorEvent(key: key, model: name, kind: .memoryHit)
  }

  /// What is to be had where memory did not answer.
  @usableFromInline func missed(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> AnyModel {
    try await read(resource, policy).model
  }

  /// What memory has, fresh or not.
  @usableFromInline func cached(_ resource: Resource) -> AnyModel? {
    if let model = reader.cached(resource) { return model }
    guard resource.readsOnly, let key = try? flow.key(resource) else { return nil }
    let copy = state.withLock { $0.memory.entry(of: key, as: resource)?.copy }
    return copy?.isVisible(to: resource) == true ? copy?.model : nil
  }

  func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    layer.events.append(ReactorEvent(key: key, model: name, kind: kind()))
  }
}

/// The answer to a fetch, with all that a ``ModelResponse`` needs.
struct EngineResponse: Sendable {
  let copy: CachedModel
  let origin: Origin
  let isFresh: Bool
  /// When it was looked at.
  let date: Date
  let resource: Resource
  /// The URL that was asked for; `nil` without a backend.
  let url: String?
  let secretQueryItems: Set<String>
}

extension ReactorEngine {
  /// The same as a fetch, with the exchange that the model was made from.
  func response(to resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> EngineResponse {
    let key = try flow.key(resource)
    let known = state.withLock { $0.memory.entries[key]?.copy }
    let copy = try await read(resource, policy)
    return try response(copy, origin: copy === known ? .memory : copy.origin, to: resource)
  }

  /// The same of a request that may change something.
  func response(toSending resource: Resource) async throws(ReactorError) -> EngineResponse {
    try response(try await send(resource), origin: .network, to: resource)
  }

  private func read(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> CachedModel {
    guard resource.readsOnly else {
      throw .invalidResource(
        "\(resource.method.rawValue) may change something; use send(_:), or set isReadOnly if it only reads")
    }
    return try await fetch(resource, policy)
  }

  private func response(
    _ copy: CachedModel, origin: Origin, to resource: Resource
  ) throws(ReactorError) -> EngineResponse {
    let now = now
    return EngineResponse(
      copy: copy, origin: origin,
      isFresh: reader.rule.status(of: copy, for: resource, at: now)?.isFresh == true, date: now, resource: resource,
      url: try layer.backend?.request(for: resource).absoluteURL,
      secretQueryItems: flow.configuration.secretQueryItems)
  }
}
