import Foundation

extension EngineState {
  /// Answers a caller from memory, or adds it to the key's flight.
  mutating func enter(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ continuation: KeyState.Continuation, _ priority: TaskPriority,
    at now: Date
  ) {
    let entry = entry(of: key, as: waiter.resource)
    switch decision(waiter, entry.copy, at: now) {
    case .use(let copy):
      append(key, .memoryHit)
      effects.append(.resume(continuation, .success(entry.shown(copy))))
      return
    case .useAndRevalidate(let copy):
      append(key, .servedStale)
      effects.append(.resume(continuation, .success(entry.shown(copy))))
      guard entry.flight?.machine.hasBackgroundWaiter != true else { return }
      join(.background(waiter.resource, waiter.policy), entry, at: now, priority: priority)
    case .ask, .notCached:
      if waiter.policy.asksStoreFirst { append(key, .memoryMiss) }
      guard beginWait(of: waiter, entry) else {
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
  mutating func leave(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    guard let entry = memory.entries[key], let continuation = entry.removeContinuation(id) else { return }
    effects.append(.resume(continuation, .failure(.cancelled)))
    removeWaiter(id, entry)
    publishChanges(of: entry)
  }

  /// Processes the end of ``ReactorConfiguration/staleAfter`` for a caller.
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

  /// Adds `waiter` to the flight of `entry`, which begins if there is none.
  mutating func join(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, priority: TaskPriority? = nil
  ) {
    if waiter.policy != .cacheOnly {
      entry.isForgotten = false
      // The flight began before another reactor's write, and this waiter asks after it.
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
    /// The flight waits for connectivity, and its record may be on disk by now.
    case newRecord
  }

  /// Restarts the flight for its waiters, under a new generation.
  mutating func restart(_ entry: Entry, because reason: RestartReason, at now: Date) {
    guard let old = entry.flight else { return }
    if case .change = reason { append(entry.key, .superseded) }
    endFlight(of: entry)
    let (machine, actions) = old.machine.restarted(id: nextFlightID()) { status(of: entry, for: $0, at: now) }
    let flight = Flight(machine, under: layer.generations.beginFetch(entry.key), priority: old.priority)
    (flight.pass, flight.isOwed) = (old.pass, old.isOwed)
    entry.flight = flight
    enqueue(actions, for: entry)
  }

  /// Ends the flight and cancels its tasks. A task that has committed its response goes on.
  mutating func endFlight(of entry: Entry) {
    guard let flight = entry.flight else { return }
    if !flight.tasks.isEmpty { effects.append(.cancel(flight.tasks)) }
    effects.append(.release([flight.machine, flight.variants, flight.pass as any Sendable]))
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

extension EngineState {
  /// Returns the entry whose flight `step` belongs to; `nil` if that flight is over.
  func entry(of step: FlightStep) -> Entry? { entry(of: step.key, flight: step.flight) }

  func entry(of key: RecordKey, flight id: UInt64) -> Entry? {
    guard let entry = memory.entries[key], entry.flight?.machine.id == id else { return nil }
    return entry
  }

  /// Processes the result of a load.
  mutating func loaded(_ result: LoadResult, for step: FlightStep, at now: Date) {
    guard let entry = entry(of: step) else { return }
    // Another reactor has stored a newer record since this one was read.
    let isOld = step.ticket.latestOnDisk != result.version
    if let snapshot = result.snapshot {
      merge(snapshot, from: result.version, isOld: isOld, entry, for: step.resource, at: now)
    }
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

  /// Processes a request that found no connectivity.
  ///
  /// - Returns: `true` if the flight waits for connectivity.
  mutating func unreachable(_ step: FlightStep, at now: Date) -> Bool {
    guard let entry = entry(of: step) else { return false }
    let actions = entry.flight?.machine.unreachable { status(of: entry, for: $0, at: now) } ?? []
    if entry.flight?.machine.isPaused == true {
      // Writes need not wait for connectivity to return.
      if let pass = entry.flight?.pass.take() { effects.append(.release([pass])) }
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

  /// Processes the failure of a step. A thrown cancellation is a failure too: a flight that still
  /// exists was not cancelled.
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

  /// Commits the network's response and resolves the waiters, unless something newer was committed.
  ///
  /// - Parameter lead: the wall clock's lead when the request began; see ``ClockSteps/lead``.
  mutating func succeeded(_ step: FlightStep, _ snapshot: Snapshot<AnyModel>, lead: Double, at now: Date) -> Commit {
    guard let entry = entry(of: step) else { return .isOver }
    guard step.ticket.commit() else { return .isOvertaken }
    step.task.release()
    let copy = copy(snapshot, entry, lead: lead, step.ticket.number)
    setCopy(copy, of: entry)
    entry.clearOutdated()
    // Other variants may be on disk without the invalidation's mark.
    if copy.head?.variant?.isMatchable != true { entry.invalidatedBefore = nil }
    finish(step, entry, at: now)
    return .isCommitted
  }

  /// Resolves the waiters of a response that a later operation has overtaken.
  ///
  /// They get the newer record if one is stored. Otherwise they get the response, which is not
  /// stored and counts as stale. The request is not repeated: beside a reactor that polls
  /// constantly, it would never end.
  mutating func succeeded(
    _ step: FlightStep, overtaken snapshot: Snapshot<AnyModel>, by newer: LoadResult?, lead: Double, at now: Date
  ) {
    guard let entry = entry(of: step) else { return }
    append(step.key, .superseded)
    if let failure = newer?.failure { append(step.key, .loadFailed(failure)) }
    let version = newer?.version ?? 0
    let own = copy(snapshot, entry, lead: lead, step.ticket.sentNumber)
    let held = entry.held(answering: step.resource)
    if let newer = newer?.snapshot,
      !own.isNewer(thanStored: CachedModel(newer, of: entry.key, origin: .persistence), at: now)
    {
      merge(newer, from: version, entry, for: step.resource, at: now)
    } else if !isNewer(held, than: own, at: now) {
      setCopy(own.invalidated(at: now), of: entry)
      entry.clearOutdated()
    }
    finish(step, entry, at: now)
  }

  /// Compares a held copy with a flight's response by the numbers of their requests. A loaded copy
  /// has none: it is older than a request that was sent after it arrived, and is compared by its
  /// dates otherwise.
  private func isNewer(_ held: CachedModel?, than own: CachedModel, at now: Date) -> Bool {
    guard let held else { return false }
    guard held.generation == 0 else { return held.generation > own.generation }
    return !held.arrived(before: own.generation) && held.isNewer(thanStored: own, at: now)
  }

  private func copy(
    _ snapshot: Snapshot<AnyModel>, _ entry: Entry, lead: Double, _ generation: Generation
  ) -> CachedModel {
    let cost = snapshot.record?.body.count ?? entry.copy?.cost
    return CachedModel(
      snapshot, of: entry.key, origin: .network, cost: cost, lead: max(lead, rule.steps.lead), generation: generation)
  }

  /// Resolves the waiters with the copy that the request produced. Waiters that need another
  /// variant stay, and the flight restarts for them.
  private mutating func finish(_ step: FlightStep, _ entry: Entry, at now: Date) {
    entry.error = nil
    entry.attemptedAt = time
    entry.showToAll()
    // A request with the same header fields is answered, whatever the step reports in `Vary`.
    let copy = entry.copy
    let actions = entry.flight?.machine.succeeded { resource in
      resource.headers == step.resource.headers || copy?.isAnotherVariant(for: resource) != true
    }
    enqueue(actions ?? [], for: entry)
    restart(entry, because: .otherVariant, at: now)
    publishChanges(of: entry)
  }

  /// Merges a loaded record into memory, unless memory has something newer.
  ///
  /// - Parameters:
  ///   - number: the number of the latest change on disk when the record was read; zero if unknown.
  ///   - isOld: `true` if a newer record has been stored since the load.
  private mutating func merge(
    _ loaded: Snapshot<AnyModel>, from number: Generation, isOld: Bool = false, _ entry: Entry, for resource: Resource,
    at now: Date
  ) {
    var copy = CachedModel(
      loaded, of: entry.key, origin: .persistence, lead: rule.steps.lead, arrivedAfter: layer.generations.latest)
    // A date in the future may be from before the invalidation too: the clock was set back since.
    if let date = entry.invalidatedBefore, copy.askedAt <= date || copy.askedAt > now {
      copy = copy.invalidated(at: date)
    }
    if isOld { copy = copy.invalidated(at: now) }
    var isLoaded = true
    // Another variant does not answer the resource, however new it is.
    if let old = entry.held(answering: resource), !(old === entry.copy && entry.isOutdated(by: copy)) {
      if old.isNewer(thanStored: copy, at: now) {
        copy = old
      } else if old.fetchedAt == copy.fetchedAt {
        copy = copy.freshness.invalidatedAt.map { old.invalidated(at: $0) } ?? old
        isLoaded = old !== entry.copy
      }
    }
    guard copy !== entry.copy else { return }
    if belongsAside(copy, entry, for: resource, at: now) {
      if entities != nil { noteEntities(of: copy) }
      return entry.storeAside(copy)
    }
    setCopy(copy, of: entry)
    if isLoaded {
      entry.redraw { $0.rebase(onLoaded: copy, from: number, isLatest: !isOld) }
      entry.clearOutdated()
    }
    if status(of: copy, for: resource, at: now)?.isFresh == true { entry.error = nil }
  }

  /// Returns `true` if `copy` has to be stored beside the key's copy.
  ///
  /// A copy that does not vary, such as a local write, answers every resource. It must not replace
  /// a newer response to another resource, or the streams that show that response would go back.
  private func belongsAside(_ copy: CachedModel, _ entry: Entry, for resource: Resource, at now: Date) -> Bool {
    guard let current = entry.copy, current.isAnotherVariant(for: resource) else { return false }
    return !copy.isAnotherVariant(than: current.head?.variant) && current.isNewer(thanStored: copy, at: now)
  }
}

/// The result of a load step.
struct LoadResult: Sendable {
  let resource: Resource
  var snapshot: Snapshot<AnyModel>?
  var failure: ReactorError?
  /// The number of the latest change on disk when the record was read.
  var version: Generation = 0
}

/// A step of a flight, run by a task. A class, since the code that copies a value as large as this
/// weighs more than all that use it.
final class FlightStep: Sendable {
  enum Step: Sendable {
    case load
    /// A request, with the result of the flight's load if there was one.
    indirect case request(LoadResult?)
  }

  let step: Step
  let key: RecordKey
  /// The ``FlightMachine/id`` of the flight.
  let flight: UInt64
  /// The resource of the waiter that needs the step.
  let resource: Resource
  let ticket: Generations.Ticket
  let task: TaskHandle
  let owner: LockOwner

  init(
    step: Step, key: RecordKey, flight: UInt64, resource: Resource, ticket: Generations.Ticket, task: TaskHandle,
    owner: LockOwner
  ) {
    self.step = step
    self.key = key
    self.flight = flight
    self.resource = resource
    self.ticket = ticket
    self.task = task
    self.owner = owner
  }
}
