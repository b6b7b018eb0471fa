import Foundation
import Synchronization

extension ReactorEngine {
  /// Waits for what the key's flight brings. A cancelled caller leaves at once; the flight goes on for the others.
  func fetch(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> CachedModel {
    let key = try flow.key(resource)
    guard !Task.isCancelled else { throw .cancelled }
    if policy != .cacheOnly, Refreshing.isUnderWay { return try await fetchAlone(resource, key, policy) }
    let id = nextID()
    let priority = Task.currentPriority
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let waiter = FlightMachine.Waiter(id: id, kind: .caller, resource: resource, policy: policy, wait: wait)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enter(waiter, key, continuation, priority)
        // The handler below may have run before there was anybody to take out.
        if Task.isCancelled { leave(key, id) }
      }
    } onCancel: {
      leave(key, id)
    }
    return try outcome.get()
  }

  /// Fetches without a flight, for the refresh of a credential: the flight of the key may wait for that refresh. The answer is
  /// neither shared nor stored.
  @concurrent private func fetchAlone(
    _ resource: Resource, _ key: RecordKey, _ policy: FetchPolicy
  ) async throws(ReactorError) -> CachedModel {
    // From the cache alone, whose flight is never made to wait for the network.
    if policy.asksStoreFirst, let copy = try? await fetch(resource, .cacheOnly) {
      switch FetchDecision(policy, copy: standing(copy, for: resource, at: now)) {
      case .use, .useAndRevalidate: return copy
      case .ask, .notCached: break
      }
    }
    guard flow.isReachable else { throw .noConnectivity }
    do {
      return CachedModel(try await flow.network(resource, FetchContext()), of: key, origin: .network)
    } catch {
      let error = ReactorError(error, wrap: ReactorError.network)
      append(key, .failed(error))
      core.events.deliver()
      throw error
    }
  }

  private func enter(
    _ waiter: FlightMachine.Waiter, _ key: RecordKey, _ continuation: CheckedContinuation<Outcome, Never>,
    _ priority: TaskPriority
  ) {
    let now = now
    transact { state, effects in
      let entry = entry(of: key, as: waiter.resource, &state)
      switch FetchDecision(waiter.policy, copy: standing(entry.copy, for: waiter.resource, at: now)) {
      case .use:
        guard let copy = entry.copy else { return }
        append(key, .memoryHit)
        effects.append(.resume(continuation, .success(copy)))
        return
      case .useAndRevalidate:
        guard let copy = entry.copy else { return }
        append(key, .servedStale)
        effects.append(.resume(continuation, .success(copy)))
        let layer = FlightMachine.Waiter(id: 0, kind: .background, resource: waiter.resource, policy: waiter.policy)
        guard entry.flight?.machine.hasBackgroundWaiter != true else { return }
        join(layer, entry, at: now, priority: priority, &state, &effects)
      case .ask, .notCached:
        if waiter.policy.asksStoreFirst { append(key, .memoryMiss) }
        guard !wouldWaitForItself(waiter, entry) else {
          effects.append(.resume(continuation, .failure(.deadlock(keys: [key]))))
          return
        }
        entry.addContinuation(continuation, for: waiter.id)
        join(waiter, entry, at: now, priority: priority, &state, &effects)
      }
      settle(entry, &state, &effects)
    }
  }

  /// A step that awaits its own flight, or one that awaits this step, would wait for ever.
  private func wouldWaitForItself(_ waiter: FlightMachine.Waiter, _ entry: Entry) -> Bool {
    guard let wait = waiter.wait, let flight = entry.flight else { return false }
    return wait.owner.family.members.contains(ObjectIdentifier(flight.owner))
  }

  private func leave(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    transact { state, effects in
      guard let entry = state.memory.entries[key], let continuation = entry.removeContinuation(id) else { return }
      effects.append(.resume(continuation, .failure(.cancelled)))
      depart(id, entry, &state, &effects)
      settle(entry, &state, &effects)
    }
  }

  /// Takes a waiter out of the flight of `entry`.
  func depart(_ id: FlightMachine.WaiterID, _ entry: Entry, _ state: inout State, _ effects: inout [Effect]) {
    let actions = entry.flight?.machine.leave(id) ?? []
    if case .end? = actions.last { append(entry.key, .cancelled) }
    apply(actions, to: entry, &effects)
  }
}

extension ReactorEngine {
  func start(_ work: FlightStep) {
    let task = spawn(on: flow.configuration.taskExecutor, priority: work.task.priority, for: work.owner) {
      // A flight is nobody's own, whoever has begun it: its requests are signed.
      await Refreshing.outside { await self.run(work) }
    }
    work.task.attach(task)
  }

  private func run(_ work: FlightStep) async {
    switch work.step {
    case .load: await load(work)
    case .request(let loaded): await request(work, loaded)
    }
  }

  private func load(_ work: FlightStep) async {
    let (loaded, failure, version) = await read(work)
    let now = now
    transact { [loaded, failure] state, effects in
      guard let entry = current(work, state) else { return }
      // What another reactor has stored since it was read is newer.
      let isOld = work.ticket.latestOnDisk != version
      if let loaded { adopt(loaded, isOld: isOld, entry, for: work.resource, at: now, &state, &effects) }
      if let failure {
        append(work.key, .loadFailed(failure))
      } else {
        let isFresh = standing(entry, for: work.resource, at: now)?.isFresh ?? false
        append(work.key, loaded == nil ? .persistenceMiss : .persistenceHit(isFresh: isFresh))
      }
      let actions = entry.flight?.machine.loaded {
        loaded?.isSelected(by: $0) ?? false
      } copy: {
        standing(entry, for: $0, at: now)
      }
      let persisted = LoadResult(resource: work.resource, snapshot: loaded)
      apply(actions ?? [], to: entry, loaded: persisted, &effects)
      settle(entry, &state, &effects)
    }
  }

  /// Reads what is persisted, alone for the key.
  ///
  /// - Returns: with the number of the change that put it there.
  private func read(_ work: FlightStep) async -> (Snapshot<AnyModel>?, ReactorError?, Generation) {
    do {
      let (loaded, version) = try await core.gate.with(work.key) {
        let version = work.ticket.latestOnDisk
        guard !core.generations.isBeingRemoved(work.key) else { return (Snapshot<AnyModel>?.none, version) }
        return (try await flow.loadFromPersistence(work.resource), version)
      }
      return (loaded, nil, version)
    } catch {
      return (nil, ReactorError(error, wrap: ReactorError.persistence), 0)
    }
  }

  private func request(_ work: FlightStep, _ loaded: LoadResult?) async {
    guard flow.isReachable else { return unreachable(work) }
    _ = now
    let lead = reader.rule.steps.lead
    let known = loaded?.snapshot ?? state.withLock { current(work, $0)?.copy(answering: work.resource)?.snapshot }
    var context = FetchContext(stale: known?.isSelected(by: work.resource) == true ? known : nil)
    context.hasAskedPersistence = loaded != nil
    // Who keeps the closure must keep neither the generation nor the task.
    context.progress = { [weak self, key = work.key, flight = work.flight] in self?.advance(key, flight, to: $0) }
    context.sends = { [weak self, key = work.key, flight = work.flight] in self?.sends(key, flight) }
    work.ticket.send()
    do {
      let snapshot = try await flow.network(work.resource, context)
      let saved = flow.configuration.waitsForSave ? await save(snapshot, work.resource, work.ticket) : nil
      if case .failed(let error) = saved, flow.configuration.failsWhenSaveFails { return fail(work, error) }
      // Who gets the answer finds it with the layer's other reactors too.
      let stored = LayerChange.stored(work.key, work.ticket.number, snapshot.head?.variant)
      if case .saved = saved { core.announce(stored, except: self) }
      switch succeed(work, snapshot, lead: lead) {
      case .isCommitted where saved == nil:
        guard case .saved = await save(snapshot, work.resource, work.ticket) else { return }
        core.announce(stored, except: self)
      case .isOvertaken: await settle(work, overtaken: snapshot, lead: lead)
      case .isCommitted, .isOver: break
      }
    } catch {
      fail(work, ReactorError(error, wrap: ReactorError.network))
    }
  }

  /// The entry whose flight `work` belongs to; `nil` where that is over, or another.
  private func current(_ work: FlightStep, _ state: borrowing State) -> Entry? {
    current(work.key, work.flight, state)
  }

  private func current(_ key: RecordKey, _ flight: UInt64, _ state: borrowing State) -> Entry? {
    guard let entry = state.memory.entries[key], entry.flight?.machine.id == flight else { return nil }
    return entry
  }

  /// Another attempt of the flight is about to be sent.
  private func sends(_ key: RecordKey, _ flight: UInt64) {
    state.withLock { current(key, flight, $0)?.flight?.ticket.send() }
  }

  private func unreachable(_ work: FlightStep) {
    let now = now
    let isPaused = transact { state, effects in
      guard let entry = current(work, state) else { return false }
      let actions = entry.flight?.machine.unreachable { standing(entry, for: $0, at: now) } ?? []
      if entry.flight?.machine.isPaused == true {
        append(work.key, .paused)
      } else {
        entry.error = .noConnectivity
        entry.attemptedAt = state.time
        append(work.key, .failed(.noConnectivity))
      }
      apply(actions, to: entry, &effects)
      settle(entry, &state, &effects)
      return entry.flight?.machine.isPaused == true
    }
    // It may have come back after it was looked at, and before anything waited for it.
    if isPaused, flow.isReachable { reconnected(refreshes: false) }
  }

  private func fail(_ work: FlightStep, _ error: ReactorError) {
    let now = now
    transact { state, effects in
      guard let entry = current(work, state) else { return }
      // A cancellation too: nobody has cancelled a flight that is still there, so the step has failed by itself.
      entry.error = error
      entry.attemptedAt = state.time
      append(work.key, .failed(error))
      let wasStoredMeanwhile = entry.flight?.wasStoredMeanwhile == true
      apply(entry.flight?.machine.failed(error) { standing(entry, for: $0, at: now) } ?? [], to: entry, &effects)
      if wasStoredMeanwhile { refresh(entry, isStored: true, at: now, &state, &effects) }
      settle(entry, &state, &effects)
    }
  }

  private enum Success { case isCommitted, isOvertaken, isOver }

  /// Gives the answer to whoever waits, unless something newer is known.
  ///
  /// - Parameter lead: the wall clock's when the request began.
  private func succeed(_ work: FlightStep, _ snapshot: Snapshot<AnyModel>, lead: Double) -> Success {
    let now = now
    return transact { state, effects in
      guard let entry = current(work, state) else { return .isOver }
      guard work.ticket.commit() else { return .isOvertaken }
      work.task.release()
      let copy = answer(snapshot, entry, lead: lead)
      setCopy(copy, of: entry, &state, &effects)
      entry.brought(by: work.ticket.number)
      // Other variants may be on disk without the mark of the invalidation.
      if copy.head?.variant?.isMatchable != true { entry.invalidatedBefore = nil }
      end(work, entry, at: now, &state, &effects)
      return .isCommitted
    }
  }

  /// An answer that something begun later has overtaken is still what its waiters have asked for. They get the newer record
  /// where one is stored, else the answer, which is not stored and counts as stale. Nobody is asked again: with another
  /// reactor that asks all the time, that would have no end.
  private func settle(_ work: FlightStep, overtaken snapshot: Snapshot<AnyModel>, lead: Double) async {
    let (newer, failure, _) = work.ticket.isOutrunOnDisk ? await read(work) : (nil, nil, 0)
    let now = now
    transact { [newer, failure] state, effects in
      guard let entry = current(work, state) else { return }
      append(work.key, .superseded)
      if let failure { append(work.key, .loadFailed(failure)) }
      let own = answer(snapshot, entry, lead: lead)
      let held = entry.held(answering: work.resource)
      if let newer, !own.isNewer(thanStored: CachedModel(newer, of: entry.key, origin: .persistence), at: now) {
        adopt(newer, entry, for: work.resource, at: now, &state, &effects)
      } else if !isNewer(held, than: own, of: work, entry, at: now) {
        setCopy(own.invalidated(at: now), of: entry, &state, &effects)
        entry.brought(by: work.ticket.sentNumber)
      }
      end(work, entry, at: now, &state, &effects)
    }
  }

  /// Compares a copy that is held with a flight's answer, by the numbers of their requests. A copy without a number is compared by
  /// its times.
  private func isNewer(_ held: CachedModel?, than own: CachedModel, of work: FlightStep, _ entry: Entry, at now: Date)
    -> Bool
  {
    guard let held else { return false }
    guard held === entry.copy, entry.generation > 0 else { return held.isNewer(thanStored: own, at: now) }
    return entry.generation > work.ticket.sentNumber
  }

  private func answer(_ snapshot: Snapshot<AnyModel>, _ entry: Entry, lead: Double) -> CachedModel {
    let cost = snapshot.record?.body.count ?? entry.copy?.cost
    return CachedModel(snapshot, of: entry.key, origin: .network, cost: cost, lead: max(lead, reader.rule.steps.lead))
  }

  /// The request has brought the copy that the key has now: its waiters get it, but for those who want another variant.
  private func end(_ work: FlightStep, _ entry: Entry, at now: Date, _ state: inout State, _ effects: inout [Effect]) {
    entry.error = nil
    entry.attemptedAt = state.time
    entry.showToAll()
    // A request with the same fields is answered, whatever the step says that the answer varies on.
    let copy = entry.copy
    let actions = entry.flight?.machine.succeeded { resource in
      resource.headers == work.resource.headers || copy?.isAnotherVariant(for: resource) != true
    }
    apply(actions ?? [], to: entry, &effects)
    restart(entry, at: now, &state, &effects)
    settle(entry, &state, &effects)
  }

  private func advance(_ key: RecordKey, _ flight: UInt64, to progress: TransferProgress) {
    transact { state, effects in
      guard let entry = current(key, flight, state), let flight = entry.flight, flight.progress != progress else {
        return
      }
      if progress.isWorthTelling(after: flight.progress) { append(key, .progress(progress)) }
      entry.advance(to: progress)
      settle(entry, &state, &effects)
    }
  }

  /// Takes over what persistence had, unless memory has something newer.
  ///
  /// - Parameter isOld: whether there is a newer record by now.
  private func adopt(
    _ loaded: Snapshot<AnyModel>, isOld: Bool = false, _ entry: Entry, for resource: Resource, at now: Date,
    _ state: inout State, _ effects: inout [Effect]
  ) {
    var copy = CachedModel(loaded, of: entry.key, origin: .persistence, lead: reader.rule.steps.lead)
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
    if standsAside(copy, entry, for: resource, at: now) { return entry.keepAside(copy) }
    setCopy(copy, of: entry, &state, &effects)
    if isLoaded { entry.brought(by: 0) }
    if standing(copy, for: resource, at: now)?.isFresh == true { entry.error = nil }
  }

  /// A copy that does not vary, such as a local write, answers every resource. It must not take the place of a newer answer to
  /// another resource: the streams that show that answer would go back.
  private func standsAside(_ copy: CachedModel, _ entry: Entry, for resource: Resource, at now: Date) -> Bool {
    guard let current = entry.copy, current.isAnotherVariant(for: resource) else { return false }
    return !copy.isAnotherVariant(than: current.head?.variant) && current.isNewer(thanStored: copy, at: now)
  }
}
