import Foundation

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

  /// Returns `true` if memory answers a caller, as ``enter(_:_:_:_:at:_:)`` would.
  func isInMemory(_ waiter: FlightMachine.Waiter, _ key: RecordKey, at now: Date) -> Bool {
    guard let entry = memory.entries[key] else { return false }
    switch decision(waiter, entry.copy, at: now) {
    case .use, .useAndRevalidate: return true
    case .ask, .notCached: return false
    }
  }

  /// Returns `true` if the server is down and a stale copy may be the answer meanwhile. If a probe
  /// of the server is due, this starts it.
  private mutating func isServedInOutage(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, _ time: Duration?
  ) -> Bool {
    guard let outage = layer.outages?.outage(of: entry.key, at: time),
      let copy = entry.copy,
      waiter.policy.servesStale(status(of: copy, for: waiter.resource, at: now), on: outage.error)
    else { return false }
    if outage.isProbeDue, entry.flight?.machine.hasBackgroundWaiter != true {
      join(.background(waiter.resource, waiter.policy), entry, at: now)
    }
    return true
  }

  /// Processes an outage of the server that a request is about to meet.
  ///
  /// - Returns: the waiters of the request from now on.
  mutating func demand(for step: FlightStep, at now: Date, _ outageTime: Duration?) -> OutageCheck.Demand {
    guard let entry = entry(of: step) else { return .background }
    if layer.outages?.outage(of: step.key, at: outageTime) != nil {
      enqueue(entry.flight?.machine.serverFails { status(of: entry, for: $0, at: now) } ?? [], for: entry)
      publishChanges(of: entry)
    }
    let waiters = entry.flight?.machine.waiters.inOrder ?? []
    if waiters.contains(where: { $0.policy == .networkOnly }) { return .insisted }
    let isAwaited = waiters.contains { $0.kind == .caller || ($0.kind == .stream && entry.copy == nil) }
    return isAwaited ? .awaited : .background
  }

  private func decision(
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

  /// Handles a caller that has waited for ``ReactorConfiguration/staleAfter``.
  mutating func waitedEnough(_ key: RecordKey, _ id: FlightMachine.WaiterID, at now: Date) {
    guard let entry = memory.entries[key] else { return }
    enqueue(entry.flight?.machine.waitedEnough(id) { status(of: entry, for: $0, at: now) } ?? [], for: entry)
    publishChanges(of: entry)
  }

  /// Removes a waiter from the flight of `entry`.
  mutating func removeWaiter(_ id: FlightMachine.WaiterID, _ entry: Entry) {
    let actions = entry.flight?.machine.leave(id) ?? []
    if case .end? = actions.last { append(entry.key, .cancelled) }
    enqueue(actions, for: entry)
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

extension EngineState {
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
}
