import Foundation
import HTTPCaching
import HTTPTypes
import Synchronization

/// The engine behind a ``Reactor``: the shell around the state machines. It locks, calls one method
/// of the state, and unlocks. Only then does it perform I/O, resume continuations or call user
/// code.
///
/// ``hit(_:_:)`` looks in memory on the caller's executor. After a miss, the caller joins the key's
/// ``FlightMachine``. Its steps run in separate tasks: load, request, save
/// (`ReactorEngine+Entering`).
@usableFromInline package final class ReactorEngine: Sendable {
  package let flow: FlowSteps
  package let layer: LayerContext
  /// The name of the model type, for events.
  let name: String
  /// The time on the configuration's clock since the reactor was created.
  let elapsed: @Sendable () -> Duration
  /// Suspends until the clock shows this time.
  let sleep: @Sendable (_ until: Duration) async throws -> Void
  /// The reader that answers hits without the engine's lock.
  let reader: MemoryReader
  /// Compares two models; `nil` if their type is not `Equatable`. It calls user code.
  let isEqual: (@Sendable (AnyModel, AnyModel) -> Bool)?
  let observers: ObserverQueue
  /// The state and the lock that guards it.
  let state: Mutex<EngineState>
  /// The number of the latest waiter. Atomic, since a thousand callers of one key may contend for
  /// the lock.
  private let lastID = Atomic<UInt64>(0)

  init<Model>(_ flow: ReactorFlow<Model>) {
    let flow = flow.presented
    self.flow = flow
    // Most type names are short enough to need no allocation. String interpolation would allocate.
    name = String(describing: Model.self)
    layer = flow.layer
    let configuration = flow.configuration
    (elapsed, sleep) = configuration.clock.timeline()
    // Not for each hit: an upstream's clock costs more than the hit.
    reader = MemoryReader(configuration, elapsed: elapsed) { [upstream = layer.upstream] in upstream?.advance() }
    isEqual = (Model.self as? any (Equatable & Sendable).Type).map { AnyModel.equality(of: $0) }
    observers = ObserverQueue(executor: configuration.taskExecutor)
    state = Mutex(
      EngineState(
        flow.layer, configuration, reader, name: name, model: ObjectIdentifier(Model.self),
        presentation: flow.presentation))
    layer.add(self)
    flow.decoded.connect { [weak self] key in
      // The stored record replaces an outdated copy, even if both have the same dates.
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

  /// The wall clock's time. Read it without the lock: the clock is user code.
  var now: Date { reader.rule.steps.now() }

  /// Returns the number of a new waiter, which is a caller or a stream.
  func nextID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

  /// Changes the state under the lock, then delivers the events and runs the effects.
  ///
  /// - Parameter loadsAtOnce: `true` to begin a load on the current thread.
  func update<Result: Sendable>(
    loadsAtOnce: Bool = false, _ change: (inout EngineState) -> Result
  ) -> Result {
    let time = elapsed()
    let date = flow.configuration.revalidatesWhenStale ? now : nil
    let (result, effects) = state.withLock { state in
      state.begin(at: time, date)
      let result = change(&state)
      return (result, state.consumeEffects())
    }
    layer.events.deliver()
    guard loadsAtOnce else {
      for effect in effects { run(effect) }
      return result
    }
    var load: FlightStep?
    for effect in effects {
      if load == nil, case .start(let step) = effect, case .load = step.step { load = step } else { run(effect) }
    }
    // The last effect, since its result must not overtake the others.
    if let load { start(load, atOnce: true) }
    return result
  }

  private func run(_ effect: Effect) {
    switch effect {
    case .resume(let continuation, let outcome): continuation.resume(returning: outcome)
    case .offer(let offers):
      for offer in offers { for slot in offer.readers { slot.offer(offer.snapshot) } }
    case .call(let actors, let key): observers.call(actors, of: key, self)
    case .end(let reader): reader.end()
    case .start(let step): start(step)
    case .add(let wait, let owner): KeyedAsyncLock.add(wait, to: owner)
    case .cancel(let tasks): for task in tasks { task.cancel() }
    case .escalate(let tasks, let priority): for task in tasks { task.escalate(to: priority) }
    case .sweep(let task): startSweeping(task)
    case .watchReachability(let task): startWatchingReachability(task)
    case .watchPower(let task): startWatchingPower(task)
    case .tellOutdated(let key): for part in layer.parts { part.arrivedOutdated(key) }
    case .observe: for part in layer.parts { part.observationChanged() }
    case .wakeUp(let task, let key, let time): startWakeup(task, key, at: time)
    case .renew(let keys, let own):
      layer.announce(.renewed(keys), except: self)
      update { $0.renew(keys.subtracting([own])) }
    case .release: break
    }
  }
}

extension ReactorEngine {
  /// Returns the cached model, fresh or stale; `nil` if memory has none.
  @usableFromInline func cached(_ resource: Resource) -> AnyModel? {
    if flow.presentation == nil, let model = reader.cached(resource) { return model }
    guard resource.readsOnly, let key = try? flow.key(resource) else { return nil }
    let (copy, presented) = state.withLock { state -> (CachedModel?, (any PresentedValue)?) in
      guard let entry = state.visibleEntry(of: key, as: resource) else { return (nil, nil) }
      return (entry.copy, entry.presented(over: entry.copy))
    }
    guard copy?.isVisible(to: resource) ?? true else { return nil }
    return presented.map(\.model) ?? copy?.model
  }

  /// Returns the model in memory without pending changes, fresh or stale; `nil` if memory has none.
  func confirmed(_ resource: Resource) -> AnyModel? { confirmedCopy(resource).model }

  /// A model without pending changes, and the copy that it was made from.
  struct ConfirmedCopy {
    var model: AnyModel?
    /// `nil` if the model was made only by changes.
    var copy: CachedModel?
    /// The ids of the accepted writes whose changes are over the copy.
    var acceptedWrites: Set<UUID> = []
  }

  /// Returns what ``confirmed(_:)`` returns, with its copy. All of it is from the same moment.
  func confirmedCopy(_ resource: Resource) -> ConfirmedCopy {
    guard resource.readsOnly, let key = try? flow.key(resource) else { return ConfirmedCopy() }
    var (confirmed, presented) = state.withLock { state -> (ConfirmedCopy, (any PresentedValue)?) in
      guard let entry = state.visibleEntry(of: key, as: resource) else { return (ConfirmedCopy(), nil) }
      let confirmed = ConfirmedCopy(copy: entry.copy, acceptedWrites: entry.changes?.acceptedIDs ?? [])
      return (confirmed, entry.confirmed(by: state.presentation))
    }
    guard confirmed.copy?.isVisible(to: resource) ?? true else { return ConfirmedCopy() }
    confirmed.model = presented.map(\.model) ?? confirmed.copy?.model
    return confirmed
  }

  package func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    layer.events.append(ReactorEvent(key: key, model: name, kind: kind()))
  }
}

/// The answer to a fetch, with everything that a ``ModelResponse`` needs.
struct EngineResponse: Sendable {
  let copy: CachedModel
  let origin: Origin
  let isFresh: Bool
  /// The wall clock's time of the answer.
  let date: Date
  let resource: Resource
  /// The requested URL; `nil` without a backend.
  let url: String?
  var secretQueryItems: Set<String>
  /// The header fields with secrets in place of their digests; `nil` if they are as stored.
  var restoredFields: HTTPFields?
}

extension ReactorEngine {
  /// Fetches a model with the exchange that it was made from.
  func response(to resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> EngineResponse {
    let key = try flow.key(resource)
    let known = state.withLock { $0.memory.entries[key]?.copy }
    let shown = try await read(resource, policy)
    let origin = shown.copy === known ? .memory : shown.copy.origin
    return try response(shown.resolved(), origin: origin, to: resource)
  }

  /// Fetches a model, and returns the state in which a stream shows it.
  func fetchState(
    _ resource: Resource, _ policy: FetchPolicy, isUnconditional: Bool
  ) async throws(ReactorError) -> LoadState<AnyModel> {
    let key = try flow.key(resource)
    let known = state.withLock { $0.memory.entries[key]?.copy }
    let shown = try await read(resource, policy, isUnconditional: isUnconditional)
    let origin = shown.copy === known ? .memory : shown.copy.origin
    let snapshot = KeySnapshot(
      key, resource, copy: shown.copy, presented: shown.presented, error: nil, origin: origin, revision: shown.revision)
    let shownState = loadState(snapshot)
    // A change has removed the value.
    guard shownState.value != nil else { throw .notCached }
    return shownState
  }

  /// Returns a page of a list with its exchange. Its links get the secrets of `first`, where the
  /// stored fields have digests of them.
  func response(
    _ copy: CachedModel, origin: Origin, toPage resource: Resource, of first: Resource
  ) throws(ReactorError) -> EngineResponse {
    var answer = try response(copy, origin: origin, to: resource)
    guard let fields = answer.copy.head?.fields, let url = try layer.backend?.request(for: first).absoluteURL,
      let restored = SecretQuery.restore(
        fields, from: url, names: answer.secretQueryItems, digests: layer.cache.digests)
    else { return answer }
    answer.restoredFields = restored
    answer.secretQueryItems = []
    return answer
  }

  /// Sends a request that may change something, and returns the model with its exchange.
  func response(toSending resource: Resource) async throws(ReactorError) -> EngineResponse {
    try response(try await send(resource), origin: .network, to: resource)
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
