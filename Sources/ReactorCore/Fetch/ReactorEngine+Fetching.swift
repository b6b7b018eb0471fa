import Foundation
import Synchronization

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

  private func isInMemory(_ waiter: FlightMachine.Waiter, _ key: RecordKey) -> Bool {
    let now = now
    return state.withLock { $0.isInMemory(waiter, key, at: now) }
  }

  private func result(
    _ outcome: KeyState.Outcome, _ entered: EngineState.Entered?, of resource: Resource
  ) -> ModelLayer.InstrumentedFetch.Result {
    let copy = try? outcome.get().copy
    let isFresh = copy.map { reader.rule.status(of: $0, for: resource, at: now)?.isFresh == true } ?? false
    let source = entered.map { $0.flight.source(isFresh: isFresh) } ?? (isFresh ? .memory : .standIn)
    let error: ReactorError? = if case .failure(let error) = outcome { error } else { nil }
    return ModelLayer.InstrumentedFetch.Result(
      source: copy == nil ? nil : source, isFresh: isFresh, error: error, flight: entered?.flight,
      hasJoined: entered?.hasJoined == true)
  }

  /// Fetches without a flight, for the refresh of a credential: the key's flight may be waiting for
  /// that refresh. The response is neither shared nor stored.
  @concurrent private func fetchAlone(
    _ resource: Resource, _ key: RecordKey, _ policy: FetchPolicy
  ) async throws(ReactorError) -> ShownModel {
    // A cache-only fetch never waits for the network.
    if policy.asksStoreFirst, let shown = try? await fetch(resource, .cacheOnly) {
      let status = reader.rule.status(of: shown.copy, for: resource, at: now)
      switch FetchDecision(policy, shown, status) {
      case .use(let shown), .useAndRevalidate(let shown): return shown
      case .ask, .notCached: break
      }
    }
    guard flow.isReachable else { throw .noConnectivity }
    do {
      return ShownModel(copy: CachedModel(try await flow.network(resource, .init()), of: key, origin: .network))
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      append(key, .failed(error))
      layer.events.deliver()
      throw error
    }
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

extension ReactorEngine {
  /// - Parameter atOnce: `true` to begin it on the current thread.
  func start(_ step: FlightStep, atOnce: Bool = false) {
    let work: @Sendable @concurrent () async -> Void = {
      // A flight serves any caller, so its requests are signed even if a refresh began it.
      await Refreshing.outside {
        // No stream shows a value without the changes that an earlier process has left.
        for part in self.layer.parts where !part.isReady { await self.wait(for: part, step) }
        switch step.step {
        case .load: await self.load(step)
        case .request(let loaded): await self.request(step, loaded)
        }
      }
    }
    let priority = step.task.priority
    if atOnce {
      step.task.attach(spawnAtOnce(priority: priority, for: step.owner, work))
    } else {
      step.task.attach(spawn(on: flow.configuration.taskExecutor, priority: priority, for: step.owner, work))
    }
  }

  /// Waits until a part is ready, for as long as the persistence may take. A store that hangs holds
  /// no request back; the changes in it are shown once it has answered.
  private func wait(for part: any LayerPart, _ step: FlightStep) async {
    // It is late, or the step is cancelled, which the step finds out itself.
    do { try await layer.readiness.within(step.key) { await part.ready() } } catch {}
  }

  private func load(_ step: FlightStep) async {
    let wait = layer.budget.begin(step.key) { [weak self] in self?.loadIsLate(step) }
    let result = await read(step)
    guard layer.budget.end(wait) else { return }
    // Its work is done: the flight, which the result may end, need not cancel it.
    step.task.release()
    let now = now
    update { $0.loaded(result, for: step, at: now) }
  }

  /// Goes on as if nothing were stored.
  private func loadIsLate(_ step: FlightStep) {
    var result = LoadResult(resource: step.resource)
    result.failure = layer.budget.error
    let now = now
    update { $0.loaded(result, for: step, at: now) }
  }

  /// Loads what is persisted, with exclusive access to the key.
  private func read(_ step: FlightStep) async -> LoadResult {
    var result = LoadResult(resource: step.resource)
    do {
      (result.snapshot, result.version) = try await layer.gate.with(step.key) {
        let version = step.ticket.latestOnDisk
        guard !layer.generations.isBeingRemoved(step.key) else { return (Snapshot<AnyModel>?.none, version) }
        return (try await flow.loadFromPersistence(step.resource), version)
      }
    } catch {
      result.failure = ReactorError(error, wrap: ReactorError.persistence)
    }
    result.snapshot = result.snapshot.map { presented($0, of: step.key) }
    return result
  }

  private func request(_ step: FlightStep, _ loaded: LoadResult?) async {
    guard flow.isReachable else { return unreachable(step) }
    // Reading the wall clock updates its lead.
    _ = now
    let lead = reader.rule.steps.lead
    let (held, isUnconditional) = state.withLock { state -> (Snapshot<AnyModel>?, Bool) in
      let entry = state.entry(of: step)
      let held = loaded?.snapshot ?? entry?.copy(answering: step.resource)?.snapshot
      return (held, entry?.flight?.machine.waiters.areUnconditional == true)
    }
    let known = isUnconditional ? nil : held
    var context = FlowContext(stale: known?.isSelected(by: step.resource) == true ? known : nil)
    // Without a stored copy there are no validators.
    context.hasAskedPersistence = isUnconditional || loaded != nil
    if layer.upstream != nil {
      context.asksServer = state.withLock { state in
        state.entry(of: step)?.flight?.machine.waiters.inOrder.contains { !$0.policy.asksStoreFirst } ?? false
      }
    }
    if let outages = layer.outages {
      let (now, time) = (now, outages.now)
      context.outage = OutageCheck(outages, step.key, update { $0.demand(for: step, at: now, time) })
    }
    // The step may store this closure, which must retain neither the ticket nor the task.
    context.progress = { [weak self, key = step.key, flight = step.flight] progress in
      self?.update { $0.advance(key, flight, to: progress) }
    }
    // The flow calls this before each attempt of the request.
    context.sends = { [weak self, key = step.key, flight = step.flight] in
      self?.state.withLock { $0.entry(of: key, flight: flight)?.flight?.ticket.send() }
    }
    step.ticket.send()
    guard let instrument = flow.configuration.instrument,
      let record = state.withLock({ $0.entry(of: step)?.flight?.record })
    else {
      _ = await send(step, context, lead: lead)
      return
    }
    context.record = record
    await instrument.flight(record) { [context] in await send(step, context, lead: lead) }
  }

  /// Sends the request of a flight, and resolves its waiters.
  ///
  /// - Returns: the error of the request; `nil` if the request succeeded.
  private func send(_ step: FlightStep, _ context: FlowContext, lead: Double) async -> ReactorError? {
    do {
      let snapshot = try await flow.network(step.resource, context).marked(by: layer.marks, step.key, step.ticket)
      note(context.outage?.ended(with: nil), step.key)
      await finish(step, presented(snapshot, of: step.key), lead: lead)
      return nil
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      note(context.outage?.ended(with: error), step.key)
      if removesValue(error) {
        await fail(step, gone: error)
        return error
      }
      fail(step, error, wasSent: context.outage?.wasRefused != true)
      return error
    }
  }

  /// Saves a response and resolves the waiters, in the order that
  /// ``ReactorConfiguration/saving`` sets.
  ///
  /// - Parameter lead: the wall clock's lead when the request began; see ``ClockSteps/lead``.
  private func finish(_ step: FlightStep, _ received: Snapshot<AnyModel>, lead: Double) async {
    let snapshot = keepingInstance(received, of: step)
    let stored = LayerChange.stored(step.key, step.ticket.number, snapshot.head?.variant)
    var saved: SaveResult?
    if flow.configuration.saving != .inBackground {
      let wait = layer.budget.begin(step.key) { [weak self] in self?.saveIsLate(step, snapshot, lead: lead) }
      saved = await save(snapshot, step.resource, step.ticket)
      guard layer.budget.end(wait) else {
        if case .saved = saved { layer.announce(stored, except: self) }
        return
      }
    }
    if case .failed(let error) = saved, flow.configuration.saving == .required { return fail(step, error) }
    // A caller that gets the response also finds it through the layer's other reactors.
    if case .saved = saved { layer.announce(stored, except: self) }
    let now = now
    switch update({ $0.succeeded(step, snapshot, lead: lead, isSaved: saved?.isSaved == true, at: now) }) {
    case .isCommitted where saved == nil:
      guard case .saved = await save(snapshot, step.resource, step.ticket) else { return }
      layer.announce(stored, except: self)
    case .isOvertaken:
      let newer = step.ticket.isOutrunOnDisk ? await readInTime(step) : nil
      let now = self.now
      update { $0.succeeded(step, overtaken: snapshot, by: newer, lead: lead, at: now) }
    case .isCommitted, .isOver: break
    }
  }

  /// Resolves the waiters with a response whose save has yet to end.
  private func saveIsLate(_ step: FlightStep, _ snapshot: Snapshot<AnyModel>, lead: Double) {
    guard let error = layer.budget.error, let limit = layer.budget.limit else { return }
    append(step.key, .saveIsLate(after: limit))
    if flow.configuration.saving == .required { return fail(step, error) }
    let now = now
    guard update({ $0.succeeded(step, snapshot, lead: lead, isSaved: false, at: now) }) == .isOvertaken else {
      return
    }
    // The newer record cannot be read either.
    update { $0.succeeded(step, overtaken: snapshot, by: nil, lead: lead, at: now) }
  }

  private func readInTime(_ step: FlightStep) async -> LoadResult {
    do {
      return try await layer.budget.within(step.key) { await self.read(step) }
    } catch {
      var result = LoadResult(resource: step.resource)
      result.failure = ReactorError(error, wrap: ReactorError.persistence)
      return result
    }
  }

  /// Returns the response with the instance in memory if both are equal, so that it is no new
  /// value. Comparing them calls user code, which must not run under the lock.
  private func keepingInstance(_ received: Snapshot<AnyModel>, of step: FlightStep) -> Snapshot<AnyModel> {
    guard let isEqual,
      let held = state.withLock({ $0.entry(of: step)?.copy(answering: step.resource)?.model }),
      !held.isSame(as: received.model), isEqual(held, received.model)
    else { return received }
    var snapshot = received
    snapshot.model = held
    return snapshot
  }

  private func unreachable(_ step: FlightStep) {
    let now = now
    let isPaused = update { $0.unreachable(step, at: now) }
    // Connectivity may have returned after the check, before the flight was paused.
    if isPaused, flow.isReachable { reconnected(refreshes: false) }
  }

  private func note(_ change: OutageTable<ReactorError>.Change?, _ key: RecordKey) {
    guard let change else { return }
    let kind: ReactorEvent.Kind =
      switch change {
      case .began: .outageBegan
      case .ended(let duration): .outageEnded(after: duration)
      }
    append(key, kind)
    layer.events.deliver()
    flow.configuration.instrument?.stateChanged(ReactorEvent(key: key, model: name, kind: kind))
    guard case .ended = change else { return }
    // Nothing else would request the resources that were refused meanwhile.
    for member in layer.livingMembers { member.serverReturned() }
    // The writes that could not be sent need not wait for their backoff.
    for part in layer.parts { part.wentOnline() }
  }

  private func fail(_ step: FlightStep, _ error: ReactorError, wasSent: Bool = true) {
    let now = now
    update { $0.failed(step, error, wasSent: wasSent, at: now) }
  }
}
