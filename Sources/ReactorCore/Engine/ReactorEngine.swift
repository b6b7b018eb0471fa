import Foundation
import Synchronization

/// What a ``Reactor`` is inside: the shell around the state machines. It locks, asks, unlocks, and only then does I/O, resumes
/// or calls anybody's code.
///
/// The path: ``hit(_:_:)`` asks memory on the caller's own executor. On a miss the caller joins the key's ``FlightMachine``, which runs in
/// tasks of its own: load, request, save (`ReactorEngine+Flights`).
@usableFromInline final class ReactorEngine: Sendable {
  typealias Entry = KeyState
  typealias Outcome = Entry.Outcome

  let flow: ReactorFlow<AnyModel>
  let core: LayerContext
  /// The model's, for events.
  let name: String
  /// The clock's time since the reactor was made.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until that time.
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  /// What is asked before the lock is.
  let reader: MemoryReader
  /// Guards everything that changes.
  let state: Mutex<State>
  /// Not under the lock, for which a thousand callers of one key wait.
  private let lastID = Atomic<UInt64>(0)

  struct State {
    var memory: ModelMemory<Entry>
    /// What ``ReactorEngine/elapsed`` said before the lock was taken: the clock is its user's.
    var time: Duration = .zero
    var revision: UInt64 = 0
    /// Set while models wait for their eviction.
    var sweeper: TaskHandle?
    /// What the wall clock said then; `nil` where nobody needs to know.
    var date: Date?
    /// Set while somebody subscribes.
    var reachabilityWatcher: TaskHandle?
    var subscriberCount = 0
    /// Set while somebody polls.
    var powerWatcher: TaskHandle?
    var pollerCount = 0
    var isSavingPower = false
  }

  init<Model>(_ flow: ReactorFlow<Model>) {
    let flow = flow.erased
    self.flow = flow
    // Most are short enough to need no memory, unless they are interpolated.
    name = String(describing: Model.self)
    core = flow.core
    let configuration = flow.configuration
    (elapsed, sleep) = Self.stopwatch(configuration.clock)
    reader = MemoryReader(configuration, elapsed: elapsed)
    state = Mutex(
      State(
        memory: ModelMemory(
          limit: configuration.memoryLimit, keepUnusedFor: configuration.keepUnusedFor, hits: reader.table)))
    core.add(self)
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

  /// Of a flight, or of a waiter to one.
  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }
}

extension ReactorEngine {
  /// What memory has for `resource`, where the policy is content with it. Never suspends.
  @usableFromInline func hit(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    guard core.events.hasObservers else { return reader.hit(resource, policy) }
    // Bound only here: it is a reference more, and most hits have no listener.
    let events = core.events
    var due: (turn: EventHub.Turn, key: RecordKey)?
    let model = reader.hit(resource, policy) { key in
      due = events.takeTurn(elsePutDown: memoryHit(of: key)).map { ($0, key) }
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

  /// How a copy stands for `resource`; `nil` where there is none that may be kept, or it is another variant.
  func standing(_ copy: CachedModel?, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.flatMap { reader.rule.standing($0, for: resource, at: now) }
  }

  /// The standing, for `resource`, of the copy in memory. The key's flight may have a copy of another variant than the key.
  func standing(_ entry: Entry, for resource: Resource, at now: Date) -> CopyStatus? {
    standing(entry.copy(answering: resource), for: resource, at: now)
  }

  /// Seconds for which a copy is fresh from now on; `nil` where it is stale, or is none for `resource`.
  func freshness(_ copy: CachedModel?, for resource: Resource, at now: Date) -> Double? {
    copy.flatMap { reader.rule.rest($0, for: resource, at: now) }
  }

  func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    core.events.append(ReactorEvent(key: key, model: name, kind: kind()))
  }
}

/// The answer to a fetch, with all that a ``ModelResponse`` needs.
struct EngineAnswer: Sendable {
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
  func answer(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> EngineAnswer {
    let key = try flow.key(resource)
    let known = state.withLock { $0.memory.entries[key]?.copy }
    let copy = try await read(resource, policy)
    return try answer(copy, origin: copy === known ? .memory : copy.origin, to: resource)
  }

  /// The same of a request that may change something.
  func response(toSending resource: Resource) async throws(ReactorError) -> EngineAnswer {
    try answer(try await send(resource), origin: .network, to: resource)
  }

  private func read(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> CachedModel {
    guard resource.readsOnly else {
      throw .invalidResource(
        "\(resource.method.rawValue) may change something; use send(_:), or set isReadOnly if it only reads")
    }
    return try await fetch(resource, policy)
  }

  private func answer(
    _ copy: CachedModel, origin: Origin, to resource: Resource
  ) throws(ReactorError) -> EngineAnswer {
    let now = now
    return EngineAnswer(
      copy: copy, origin: origin,
      isFresh: standing(copy, for: resource, at: now)?.isFresh == true, date: now, resource: resource,
      url: try core.backend?.request(for: resource).absoluteURL,
      secretQueryItems: flow.configuration.secretQueryItems)
  }
}
