import Foundation
import Synchronization

extension ReactorEngine {
  /// Returns the cached model if the policy accepts it. Never suspends.
  @usableFromInline func hit(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    guard flow.presentation == nil else { return hitPresented(resource, policy) }
    guard layer.events.hasObservers else { return reader.hit(resource, policy) }
    // Bound only here: it costs one more reference, and most hits have no listener.
    let events = layer.events
    var due: (turn: EventHub.Turn, key: RecordKey)?
    let model = reader.hit(resource, policy) { copy in
      due = events.beginTurn(orEnqueue: memoryHit(of: copy.key)).map { ($0, copy.key) }
    }
    // Taken instead of copied, here and in the hub: counting references is what an event costs.
    if let (turn, key) = due.take() { events.deliver(memoryHit(of: key), in: turn) }
    return model
  }

  private func memoryHit(of key: consuming RecordKey) -> ReactorEvent {
    ReactorEvent(key: key, model: name, kind: .memoryHit)
  }

  /// Returns the cached model as another module presents it, if the policy accepts it.
  ///
  /// The copy is found without the engine's lock, as any other. Nothing is computed unless
  /// something in the copy has changed since the last reader.
  func hitPresented(_ resource: Resource, _ policy: FetchPolicy) -> AnyModel? {
    var found: CachedModel?
    guard reader.hit(resource, policy, note: { found = $0 }) != nil, let copy = found,
      let model = copy.presented?.shown.model
    else { return nil }
    if layer.events.hasObservers {
      append(copy.key, .memoryHit)
      layer.events.deliver()
    }
    return model
  }

  /// Fetches a model after a miss in memory.
  @usableFromInline func missed(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> AnyModel {
    try await read(resource, policy).resolved().model
  }

  func read(
    _ resource: Resource, _ policy: FetchPolicy, isUnconditional: Bool = false
  ) async throws(ReactorError) -> ShownModel {
    guard resource.readsOnly else {
      throw .invalidResource(
        "\(resource.method.rawValue) may change something; use send(_:), or set isReadOnly if it only reads")
    }
    let shown = try await fetch(resource, policy, isUnconditional: isUnconditional)
    // The program has removed it, and the server may have it again.
    guard flow.presentation != nil, policy != .cacheOnly, shown.isRemoved else { return shown }
    return try await fetch(resource, .networkOnly)
  }
}

extension ReactorEngine {
  /// Fetches through the key's flight. A cancelled caller leaves at once; the flight continues for
  /// the other waiters.
  ///
  /// - Parameters:
  ///   - isUnconditional: `true` to ask without the validators of the stored copy. The request of a
  ///     flight that is under way may have them.
  ///   - asksForStreams: `true` if the request continues for the streams of the resource when the
  ///     caller is cancelled.
  func fetch(
    _ resource: Resource, _ policy: FetchPolicy, isUnconditional: Bool = false, asksForStreams: Bool = false
  ) async throws(ReactorError) -> ShownModel {
    let key = try flow.key(resource)
    guard !Task.isCancelled else { throw .cancelled }
    if policy != .cacheOnly, Refreshing.isUnderWay { return try await fetchAlone(resource, key, policy) }
    let id = nextID()
    let priority = resource.priority ?? Task.currentPriority
    let wait = LockOwner.wait()
    defer { wait?.end() }
    var waiter = FlightMachine.Waiter(id: id, kind: .caller, resource: resource, policy: policy, wait: wait)
    (waiter.isUnconditional, waiter.asksForStreams) = (isUnconditional, asksForStreams)
    guard let instrument = flow.configuration.instrument, !isInMemory(waiter, key) else {
      return try await join(waiter, key, priority).outcome.get()
    }
    // Replaced unless the instrument does not run the fetch.
    var outcome = KeyState.Outcome.failure(.cancelled)
    await instrument.fetch(ModelLayer.InstrumentedFetch(key: key, model: name, policy: policy)) {
      let joined = await join(waiter, key, priority)
      outcome = joined.outcome
      return result(joined.outcome, joined.entered, of: resource)
    }
    return try outcome.get()
  }

  /// Waits for the flight of a key, unless memory has an answer.
  private func join(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ priority: TaskPriority
  ) async -> (outcome: KeyState.Outcome, entered: EngineState.Entered?) {
    let timer = timer(of: waiter.policy)
    defer { timer?.cancel() }
    var entered: EngineState.Entered?
    let actor: (any Actor)? = #isolation
    let loadsAtOnce = mayLoadAtOnce(for: waiter, isOnActor: actor != nil)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        entered = enter(waiter, key, continuation, priority, loadsAtOnce: loadsAtOnce)
        if let timer { startTimer(timer, key, waiter.id) }
        // The cancellation handler may have run before the waiter entered.
        if Task.isCancelled { leave(key, waiter.id) }
      }
    } onCancel: {
      leave(key, waiter.id)
    }
    return (outcome, entered)
  }

  /// Returns `true` if the load of a new flight may begin on the thread of a caller that is on no
  /// actor: it returns within microseconds, and the caller prefers no other executor.
  ///
  /// A thread is then neither woken nor waited for, which costs as much as the load of 1 KB.
  private func mayLoadAtOnce(for waiter: FlightMachine.Waiter, isOnActor: Bool) -> Bool {
    !isOnActor && flow.loadsAtOnce && waiter.resource.priority == nil && flow.configuration.taskExecutor == nil
      && withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
  }

  private func enter(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ continuation: KeyState.Continuation, _ priority: TaskPriority,
    loadsAtOnce: Bool
  ) -> EngineState.Entered? {
    let (now, outageTime) = (now, layer.outages?.now)
    return update(loadsAtOnce: loadsAtOnce) { $0.enter(waiter, key, continuation, priority, at: now, outageTime) }
  }

  /// Returns the timer of ``ReactorConfiguration/staleAfter``; `nil` if the policy has none.
  private func timer(of policy: FetchPolicy) -> TaskHandle? {
    guard flow.configuration.staleAfter != nil, policy == .cacheFirst || policy == .networkFirst else { return nil }
    return TaskHandle(priority: nil)
  }

  private func leave(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    let now = now
    update { $0.leave(key, id, at: now) }
  }
}

extension EngineState {
  /// The flight that a caller waits for, as an instrument sees it.
  typealias Entered = (flight: ModelLayer.InstrumentedFlight, hasJoined: Bool)

  /// Answers a caller from memory, or adds it to the key's flight.
  ///
  /// - Parameter outageTime: the time of ``LayerOutages``.
  /// - Returns: `nil` without an instrument, or if the caller need not wait.
  mutating func enter(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ continuation: KeyState.Continuation, _ priority: TaskPriority,
    at now: Date, _ outageTime: Duration?
  ) -> Entered? {
    var entered: Entered?
    let entry = entry(of: key, as: waiter.resource)
    switch decision(waiter, entry.copy, at: now) {
    case .use(let copy):
      append(key, .memoryHit)
      memory.hits.countHit()
      effects.append(.resume(continuation, .success(entry.shown(copy))))
      return nil
    case .useAndRevalidate(let copy):
      append(key, .servedStale)
      memory.hits.countHit()
      effects.append(.resume(continuation, .success(entry.shown(copy))))
      guard entry.flight?.machine.hasBackgroundWaiter != true else { return nil }
      join(.background(waiter.resource, waiter.policy), entry, at: now, priority: priority)
    case .ask where isServedInOutage(waiter, entry, at: now, outageTime):
      append(key, .servedStale)
      let outcome = entry.copy.map { Outcome.success(entry.shown($0)) } ?? .failure(.notCached)
      effects.append(.resume(continuation, outcome))
    case .ask, .notCached:
      if waiter.policy.asksStoreFirst { append(key, .memoryMiss) }
      guard beginWait(of: waiter, entry) else {
        effects.append(.resume(continuation, .failure(.deadlock(keys: [key]))))
        return nil
      }
      entry.addContinuation(continuation, for: waiter.id)
      let hasJoined = entry.flight != nil
      join(waiter, entry, at: now, priority: priority)
      entered = entry.flight?.record.map { ($0, hasJoined) }
    }
    publishChanges(of: entry)
    return entered
  }

  func decision(
    _ waiter: FlightMachine.Waiter, _ copy: CachedModel?, at now: Date
  ) -> FetchDecision<CachedModel> {
    guard let copy else { return waiter.policy == .cacheOnly ? .notCached : .ask }
    return FetchDecision(waiter.policy, copy, status(of: copy, for: waiter.resource, at: now))
  }

  /// Begins the wait of a step that `waiter` works for. A flight that does not exist yet waits for
  /// nothing, so it may always be awaited.
  ///
  /// - Returns: `false` if the flight waits, directly or not, for that step. The wait would never
  ///   end.
  private func beginWait(of waiter: FlightMachine.Waiter, _ entry: Entry) -> Bool {
    guard let wait = waiter.wait, let flight = entry.flight else { return true }
    return KeyedAsyncLock.begin(wait, for: flight.owner)
  }

  /// Adds `waiter` to the flight of `entry`, and starts a flight if needed.
  mutating func join(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, priority: TaskPriority? = nil
  ) {
    if waiter.policy != .cacheOnly {
      entry.isForgotten = false
      // The flight started before another reactor's write, and this waiter came after it.
      if entry.flight?.isBeforeWrite == true { restart(entry, because: .change, at: now) }
    }
    if let flight = entry.flight {
      append(entry.key, .joined)
      flight.record?.join()
      if let wait = waiter.wait { effects.append(.add(wait, to: flight.owner)) }
      if let priority, priority > flight.priority ?? .background {
        flight.priority = priority
        effects.append(.escalate(flight.tasks, priority))
      }
    } else {
      entry.flight = Flight(
        FlightMachine(id: nextFlightID()), under: layer.generations.beginFetch(entry.key), priority: priority,
        in: layer)
      if configuration.instrument != nil {
        entry.flight?.record = ModelLayer.InstrumentedFlight(
          key: entry.key, model: name, isInBackground: waiter.kind == .background)
      }
      // None of its steps is queued yet, so no effect is needed.
      if let wait = waiter.wait { entry.flight?.owner.add(wait) }
    }
    let actions = entry.flight?.machine.join(waiter) { status(of: entry, for: $0, at: now) } ?? []
    enqueue(actions, for: entry)
    // A caller need not wait as long as streams do.
    if waiter.kind == .caller { release(entry) }
  }

  /// Performs the actions of a flight's state machine.
  ///
  /// - Parameter loaded: the result of the load, for the request that follows it.
  mutating func enqueue(_ actions: [FlightMachine.Action], for entry: Entry, loaded: LoadResult? = nil) {
    for action in actions {
      switch action {
      case .load(let resource): begin(.load, resource, for: entry)
      case .request(let resource):
        let own = loaded?.resource.headers == resource.headers ? loaded : nil
        begin(.request(own), resource, for: entry)
      case .use(let waiter): answer(waiter, entry)
      case .useStale(let waiter):
        append(entry.key, .servedStale)
        answer(waiter, entry)
      case .fail(let waiter, let error): fail(waiter, error, entry)
      case .end: endFlight(of: entry)
      }
    }
  }

  private mutating func begin(_ step: FlightStep.Step, _ resource: Resource, for entry: Entry) {
    guard let flight = entry.flight else { return }
    let task = TaskHandle(priority: flight.priority)
    let step = FlightStep(
      step: step, key: entry.key, flight: flight.machine.id, resource: resource, ticket: flight.ticket, task: task,
      owner: flight.owner)
    flight.tasks.append(task)
    guard !holds(step, flight) else {
      (flight.held, flight.isOwed) = (step, true)
      return
    }
    effects.append(.start(step))
  }

  private mutating func answer(_ waiter: FlightMachine.Waiter, _ entry: Entry) {
    // If the key's copy is another variant, a stream may hold the copy that answers.
    let copy = entry.held(answering: waiter.resource)
    guard waiter.kind == .caller else { return entry.show(copy, to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    let outcome = (copy ?? entry.copy).map { Outcome.success(entry.shown($0)) } ?? .failure(.notCached)
    effects.append(.resume(continuation, outcome))
  }

  private mutating func fail(_ waiter: FlightMachine.Waiter, _ error: ReactorError, _ entry: Entry) {
    if case .notCached = error { entry.denyCached(to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    effects.append(.resume(continuation, .failure(error)))
  }

  /// Removes a cancelled caller and resumes it with ``ReactorError/cancelled``.
  mutating func leave(_ key: RecordKey, _ id: FlightMachine.WaiterID, at now: Date) {
    guard let entry = memory.entries[key], let continuation = entry.removeContinuation(id) else { return }
    effects.append(.resume(continuation, .failure(.cancelled)))
    if entry.flight?.machine.waiters[id]?.asksForStreams == true {
      for subscriber in entry.subscribers.all where entry.flight?.machine.waiters.contains(subscriber.id) == false {
        join(subscriber.waiter(.networkOnly), entry, at: now)
      }
    }
    removeWaiter(id, entry)
    publishChanges(of: entry)
  }

  /// Removes a waiter from the flight of `entry`.
  mutating func removeWaiter(_ id: FlightMachine.WaiterID, _ entry: Entry) {
    let actions = entry.flight?.machine.leave(id) ?? []
    if case .end? = actions.last { append(entry.key, .cancelled) }
    enqueue(actions, for: entry)
  }

  enum RestartReason {
    /// The flight's request is from before a change, and its response is dropped.
    case change
    /// The flight has its response, but some waiters need another variant.
    case otherVariant
    /// The flight waits for connectivity, and its record may have been stored meanwhile.
    case newRecord
  }

  /// Restarts the flight for its waiters, under a new generation.
  mutating func restart(_ entry: Entry, because reason: RestartReason, at now: Date) {
    guard let old = entry.flight else { return }
    if case .change = reason { append(entry.key, .superseded) }
    endFlight(of: entry)
    let (machine, actions) = old.machine.restarted(id: nextFlightID()) { status(of: entry, for: $0, at: now) }
    let flight = Flight(
      machine, under: layer.generations.beginFetch(entry.key), priority: old.priority, in: layer)
    (flight.pass, flight.isOwed) = (old.pass, old.isOwed)
    entry.flight = flight
    enqueue(actions, for: entry)
  }

  /// Ends the flight and cancels its tasks. A task that has committed its response continues.
  mutating func endFlight(of entry: Entry) {
    guard let flight = entry.flight else { return }
    flight.owner.endFlight()
    if !flight.tasks.isEmpty { effects.append(.cancel(flight.tasks)) }
    if !flight.machine.isSpent || !flight.variants.isEmpty || flight.pass != nil {
      effects.append(.release([flight.machine, flight.variants, flight.pass as any Sendable]))
    }
    entry.flight = nil
  }
}
