import Foundation

extension EngineState {
  /// A caller arrives: it gets what memory has, or waits for the key's flight.
  mutating func enter(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ continuation: KeyState.Continuation, _ priority: TaskPriority,
    at now: Date
  ) {
    let entry = entry(of: key, as: waiter.resource)
    switch decision(waiter, entry.copy, at: now) {
    case .use(let copy):
      append(key, .memoryHit)
      effects.append(.resume(continuation, .success(copy)))
      return
    case .useAndRevalidate(let copy):
      append(key, .servedStale)
      effects.append(.resume(continuation, .success(copy)))
      guard entry.flight?.machine.hasBackgroundWaiter != true else { return }
      join(.background(waiter.resource, waiter.policy), entry, at: now, priority: priority)
    case .ask, .notCached:
      if waiter.policy.asksStoreFirst { append(key, .memoryMiss) }
      guard !wouldWaitForItself(waiter, entry) else {
        effects.append(.resume(continuation, .failure(.deadlock(keys: [key]))))
        return
      }
      entry.addContinuation(continuation, for: waiter.id)
      join(waiter, entry, at: now, priority: priority)
    }
    publishChanges(of: entry)
  }

  private func decision(
    _ waiter: FlightMachine.Waiter, _ copy: CachedModel?, at now: Date
  ) -> FetchDecision<CachedModel> {
    guard let copy else { return waiter.policy == .cacheOnly ? .notCached : .ask }
    return FetchDecision(waiter.policy, copy, status(of: copy, for: waiter.resource, at: now))
  }

  /// A step that awaits its own flight, or one that awaits this step, would wait for ever.
  private func wouldWaitForItself(_ waiter: FlightMachine.Waiter, _ entry: Entry) -> Bool {
    guard let wait = waiter.wait, let flight = entry.flight else { return false }
    return wait.owner.family.members.contains(ObjectIdentifier(flight.owner))
  }

  /// A caller leaves before it has an answer.
  mutating func leave(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    guard let entry = memory.entries[key], let continuation = entry.removeContinuation(id) else { return }
    effects.append(.resume(continuation, .failure(.cancelled)))
    removeWaiter(id, entry)
    publishChanges(of: entry)
  }

  /// Takes a waiter out of the flight of `entry`.
  mutating func removeWaiter(_ id: FlightMachine.WaiterID, _ entry: Entry) {
    let actions = entry.flight?.machine.leave(id) ?? []
    if case .end? = actions.last { append(entry.key, .cancelled) }
    enqueue(actions, for: entry)
  }

  /// Joins `waiter` to the flight of `entry`, which is begun if there is none.
  mutating func join(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, priority: TaskPriority? = nil
  ) {
    if waiter.policy != .cacheOnly {
      entry.isForgotten = false
      // Its answer was begun before another reactor's write; this waiter asks after it.
      if entry.flight?.isBeforeWrite == true { restart(entry, because: .change, at: now) }
    }
    if let flight = entry.flight {
      append(entry.key, .joined)
      if let wait = waiter.wait { effects.append(.add(wait, to: flight.owner)) }
      if let priority, priority > flight.priority ?? .background {
        flight.priority = priority
        effects.append(.escalate(flight.tasks, priority))
      }
    } else {
      entry.flight = Flight(
        FlightMachine(id: nextFlightID()), under: layer.generations.beginFetch(entry.key), priority: priority)
      // Nothing of it is queued yet.
      if let wait = waiter.wait { entry.flight?.owner.add(wait) }
    }
    let actions = entry.flight?.machine.join(waiter) { status(of: entry, for: $0, at: now) } ?? []
    enqueue(actions, for: entry)
  }

  enum RestartReason {
    /// Its answer was asked for before a change, and is dropped.
    case change
    /// It has answered, but some of its waiters want another variant.
    case otherVariant
    /// It waits for connectivity, and what it waits for may be on disk by now.
    case newRecord
  }

  /// Begins the flight again under a new generation, for the waiters that wait.
  mutating func restart(_ entry: Entry, because reason: RestartReason, at now: Date) {
    guard let old = entry.flight else { return }
    if case .change = reason { append(entry.key, .superseded) }
    endFlight(of: entry)
    let (machine, actions) = old.machine.restarted(id: nextFlightID()) { status(of: entry, for: $0, at: now) }
    entry.flight = Flight(machine, under: layer.generations.beginFetch(entry.key), priority: old.priority)
    enqueue(actions, for: entry)
  }

  /// Ends the flight: what still runs is cancelled, unless it is past that.
  mutating func endFlight(of entry: Entry) {
    guard let flight = entry.flight else { return }
    if !flight.tasks.isEmpty { effects.append(.cancel(flight.tasks)) }
    effects.append(.release([flight.machine, flight.variants]))
    entry.flight = nil
  }
}

extension EngineState {
  /// Does what a flight's state machine asks for.
  ///
  /// - Parameter loaded: what persistence had, for the request that follows.
  mutating func enqueue(_ actions: [FlightMachine.Action], for entry: Entry, loaded: LoadResult? = nil) {
    for action in actions {
      switch action {
      case .load(let resource): begin(.load, resource, for: entry)
      case .request(let resource):
        let own = loaded?.resource.headers == resource.headers ? loaded : nil
        begin(.request(own), resource, for: entry)
      case .use(let waiter): answer(waiter, entry)
      case .fail(let waiter, let error): fail(waiter, error, entry)
      case .end: endFlight(of: entry)
      }
    }
  }

  private mutating func begin(_ step: FlightStep.Step, _ resource: Resource, for entry: Entry) {
    guard let flight = entry.flight else { return }
    let task = TaskHandle(priority: flight.priority)
    flight.tasks.append(task)
    effects.append(
      .start(
        FlightStep(
          step: step, key: entry.key, flight: flight.machine.id, resource: resource, ticket: flight.ticket, task: task,
          owner: flight.owner)))
  }

  private mutating func answer(_ waiter: FlightMachine.Waiter, _ entry: Entry) {
    // A stream may hold the one that answers, where the key's copy is another variant.
    let copy = entry.held(answering: waiter.resource)
    guard waiter.kind == .caller else { return entry.show(copy, to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    let outcome = (copy ?? entry.copy).map { Outcome.success($0) } ?? .failure(.notCached)
    effects.append(.resume(continuation, outcome))
  }

  private mutating func fail(_ waiter: FlightMachine.Waiter, _ error: ReactorError, _ entry: Entry) {
    if case .notCached = error { entry.denyCached(to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    effects.append(.resume(continuation, .failure(error)))
  }
}

extension EngineState {
  /// The entry whose flight `step` belongs to; `nil` where that is over, or another.
  func entry(of step: FlightStep) -> Entry? { entry(of: step.key, flight: step.flight) }

  func entry(of key: RecordKey, flight id: UInt64) -> Entry? {
    guard let entry = memory.entries[key], entry.flight?.machine.id == id else { return nil }
    return entry
  }

  /// Persistence has answered a step.
  mutating func loaded(_ result: LoadResult, for step: FlightStep, at now: Date) {
    guard let entry = entry(of: step) else { return }
    // What another reactor has stored since it was read is newer.
    let isOld = step.ticket.latestOnDisk != result.version
    if let snapshot = result.snapshot { merge(snapshot, isOld: isOld, entry, for: step.resource, at: now) }
    if let failure = result.failure {
      append(step.key, .loadFailed(failure))
    } else {
      let isFresh = status(of: entry, for: step.resource, at: now)?.isFresh ?? false
      append(step.key, result.snapshot == nil ? .persistenceMiss : .persistenceHit(isFresh: isFresh))
    }
    let actions = entry.flight?.machine.loaded {
      result.snapshot?.isSelected(by: $0) ?? false
    } copy: {
      status(of: entry, for: $0, at: now)
    }
    enqueue(actions ?? [], for: entry, loaded: result)
    publishChanges(of: entry)
  }

  /// There is no connectivity for a step's request.
  ///
  /// - Returns: `true` where the flight waits for it now.
  mutating func unreachable(_ step: FlightStep, at now: Date) -> Bool {
    guard let entry = entry(of: step) else { return false }
    let actions = entry.flight?.machine.unreachable { status(of: entry, for: $0, at: now) } ?? []
    if entry.flight?.machine.isPaused == true {
      append(step.key, .paused)
    } else {
      entry.error = .noConnectivity
      entry.attemptedAt = time
      append(step.key, .failed(.noConnectivity))
    }
    enqueue(actions, for: entry)
    publishChanges(of: entry)
    return entry.flight?.machine.isPaused == true
  }

  /// A step has failed. A cancellation too: nobody has cancelled a flight that is still there, so the step has failed by itself.
  mutating func failed(_ step: FlightStep, _ error: ReactorError, at now: Date) {
    guard let entry = entry(of: step) else { return }
    entry.error = error
    entry.attemptedAt = time
    append(step.key, .failed(error))
    let wasStoredMeanwhile = entry.flight?.wasStoredMeanwhile == true
    enqueue(entry.flight?.machine.failed(error) { status(of: entry, for: $0, at: now) } ?? [], for: entry)
    if wasStoredMeanwhile { refresh(entry, isStored: true, at: now) }
    publishChanges(of: entry)
  }

  mutating func advance(_ key: RecordKey, _ flight: UInt64, to progress: TransferProgress) {
    guard let entry = entry(of: key, flight: flight), let flight = entry.flight, flight.progress != progress else {
      return
    }
    if progress.isWorthReporting(after: flight.progress) { append(key, .progress(progress)) }
    entry.advance(to: progress)
    publishChanges(of: entry)
  }

  enum Commit { case isCommitted, isOvertaken, isOver }

  /// The network has answered: whoever waits gets it, unless something newer is known.
  ///
  /// - Parameter lead: the wall clock's when the request began.
  mutating func succeeded(_ step: FlightStep, _ snapshot: Snapshot<AnyModel>, lead: Double, at now: Date) -> Commit {
    guard let entry = entry(of: step) else { return .isOver }
    guard step.ticket.commit() else { return .isOvertaken }
    step.task.release()
    let copy = copy(snapshot, entry, lead: lead, step.ticket.number)
    setCopy(copy, of: entry)
    entry.clearOutdated()
    // Other variants may be on disk without the mark of the invalidation.
    if copy.head?.variant?.isMatchable != true { entry.invalidatedBefore = nil }
    finish(step, entry, at: now)
    return .isCommitted
  }

  /// An answer that something begun later has overtaken is still what its waiters have asked for. They get the newer record
  /// where one is stored, else the answer, which is not stored and counts as stale. Nobody is asked again: with another
  /// reactor that asks all the time, that would have no end.
  mutating func succeeded(
    _ step: FlightStep, overtaken snapshot: Snapshot<AnyModel>, by newer: LoadResult?, lead: Double, at now: Date
  ) {
    guard let entry = entry(of: step) else { return }
    append(step.key, .superseded)
    if let failure = newer?.failure { append(step.key, .loadFailed(failure)) }
    let own = copy(snapshot, entry, lead: lead, step.ticket.sentNumber)
    let held = entry.held(answering: step.resource)
    if let newer = newer?.snapshot,
      !own.isNewer(thanStored: CachedModel(newer, of: entry.key, origin: .persistence), at: now)
    {
      merge(newer, entry, for: step.resource, at: now)
    } else if !isNewer(held, than: own, at: now) {
      setCopy(own.invalidated(at: now), of: entry)
      entry.clearOutdated()
    }
    finish(step, entry, at: now)
  }

  /// Compares a copy that is held with a flight's answer, by the numbers of their requests. A copy without a number is compared by
  /// its times.
  private func isNewer(_ held: CachedModel?, than own: CachedModel, at now: Date) -> Bool {
    guard let held else { return false }
    return held.generation > 0 ? held.generation > own.generation : held.isNewer(thanStored: own, at: now)
  }

  private func copy(
    _ snapshot: Snapshot<AnyModel>, _ entry: Entry, lead: Double, _ generation: Generation
  ) -> CachedModel {
    let cost = snapshot.record?.body.count ?? entry.copy?.cost
    return CachedModel(
      snapshot, of: entry.key, origin: .network, cost: cost, lead: max(lead, rule.steps.lead), generation: generation)
  }

  /// The request has brought the copy that the key has now: its waiters get it, but for those who want another variant.
  private mutating func finish(_ step: FlightStep, _ entry: Entry, at now: Date) {
    entry.error = nil
    entry.attemptedAt = time
    entry.showToAll()
    // A request with the same fields is answered, whatever the step says that the answer varies on.
    let copy = entry.copy
    let actions = entry.flight?.machine.succeeded { resource in
      resource.headers == step.resource.headers || copy?.isAnotherVariant(for: resource) != true
    }
    enqueue(actions ?? [], for: entry)
    restart(entry, because: .otherVariant, at: now)
    publishChanges(of: entry)
  }

  /// Takes over what persistence had, unless memory has something newer.
  ///
  /// - Parameter isOld: whether there is a newer record by now.
  private mutating func merge(
    _ loaded: Snapshot<AnyModel>, isOld: Bool = false, _ entry: Entry, for resource: Resource, at now: Date
  ) {
    var copy = CachedModel(loaded, of: entry.key, origin: .persistence, lead: rule.steps.lead)
    // One from the future may be from before as well: the clock was set back since.
    if let date = entry.invalidatedBefore, copy.askedAt <= date || copy.askedAt > now {
      copy = copy.invalidated(at: date)
    }
    if isOld { copy = copy.invalidated(at: now) }
    var isLoaded = true
    // Another variant, however new, is no answer to what was asked for.
    if let old = entry.held(answering: resource), !(old === entry.copy && entry.isOutdated(by: copy)) {
      if old.isNewer(thanStored: copy, at: now) {
        copy = old
      } else if old.fetchedAt == copy.fetchedAt {
        copy = copy.freshness.invalidatedAt.map { old.invalidated(at: $0) } ?? old
        isLoaded = old !== entry.copy
      }
    }
    guard copy !== entry.copy else { return }
    if belongsAside(copy, entry, for: resource, at: now) { return entry.storeAside(copy) }
    setCopy(copy, of: entry)
    if isLoaded { entry.clearOutdated() }
    if status(of: copy, for: resource, at: now)?.isFresh == true { entry.error = nil }
  }

  /// A copy that does not vary, such as a local write, answers every resource. It must not take the place of a newer answer to
  /// another resource: the streams that show that answer would go back.
  private func belongsAside(_ copy: CachedModel, _ entry: Entry, for resource: Resource, at now: Date) -> Bool {
    guard let current = entry.copy, current.isAnotherVariant(for: resource) else { return false }
    return !copy.isAnotherVariant(than: current.head?.variant) && current.isNewer(thanStored: copy, at: now)
  }
}

/// The answer of persistence to a step.
struct LoadResult: Sendable {
  let resource: Resource
  var snapshot: Snapshot<AnyModel>?
  var failure: ReactorError?
  /// The number of the change that put it there.
  var version: Generation = 0
}

/// One step of a flight, to be run by a task.
struct FlightStep: Sendable {
  enum Step: Sendable {
    case load
    /// With what persistence had, if it was asked in this flight.
    case request(LoadResult?)
  }

  let step: Step
  let key: RecordKey
  /// ``FlightMachine/id``.
  let flight: UInt64
  /// The resource of the waiter that the step is for.
  let resource: Resource
  let ticket: Generations.Ticket
  let task: TaskHandle
  let owner: LockOwner
}
