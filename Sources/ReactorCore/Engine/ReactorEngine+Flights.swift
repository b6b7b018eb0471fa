import Foundation
import Synchronization

extension ReactorEngine {
  /// Waits for what the key's flight brings. A cancelled caller leaves at once; the flight goes on for the others.
  func fetch(_ resource: Resource, _ policy: FetchPolicy) async throws(ReactorError) -> Copy {
    let key = try flow.key(resource)
    guard !Task.isCancelled else { throw .cancelled }
    let id = nextID()
    let priority = Task.currentPriority
    let wait = LockOwner.wait()
    defer { wait?.end() }
    let party = Flight.Party(id: id, kind: .caller, resource: resource, policy: policy, wait: wait)
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        enter(party, key, continuation, priority)
        // The handler below may have run before there was anybody to take out.
        if Task.isCancelled { leave(key, id) }
      }
    } onCancel: {
      leave(key, id)
    }
    return try outcome.get()
  }

  private func enter(
    _ party: Flight.Party, _ key: RecordKey, _ continuation: CheckedContinuation<Outcome, Never>,
    _ priority: TaskPriority
  ) {
    let now = now
    transact { state, effects in
      let entry = entry(of: key, as: party.resource, &state)
      switch FetchDecision(party.policy, copy: standing(entry.copy, for: party.resource, at: now)) {
      case .use:
        guard let copy = entry.copy else { return }
        append(key, .memoryHit)
        effects.append(.resume(continuation, .success(copy)))
        return
      case .useAndRevalidate:
        guard let copy = entry.copy else { return }
        append(key, .servedStale)
        effects.append(.resume(continuation, .success(copy)))
        let layer = Flight.Party(id: 0, kind: .layer, resource: party.resource, policy: party.policy)
        guard entry.flight?.machine.hasLayer != true else { return }
        join(layer, entry, at: now, priority: priority, &state, &effects)
      case .ask, .notCached:
        if party.policy.asksStoreFirst { append(key, .memoryMiss) }
        guard !wouldWaitForItself(party, entry) else {
          effects.append(.resume(continuation, .failure(.deadlock(keys: [key]))))
          return
        }
        entry.addWaiter(continuation, for: party.id)
        join(party, entry, at: now, priority: priority, &state, &effects)
      }
      settle(entry, &state, &effects)
    }
  }

  /// A step that awaits its own flight, or one that awaits this step, would wait for ever.
  private func wouldWaitForItself(_ party: Flight.Party, _ entry: Entry) -> Bool {
    guard let wait = party.wait, let flight = entry.flight else { return false }
    return wait.owner.family.members.contains(ObjectIdentifier(flight.owner))
  }

  private func leave(_ key: RecordKey, _ id: Flight.PartyID) {
    transact { state, effects in
      guard let entry = state.memory.entries[key], let waiter = entry.removeWaiter(id) else { return }
      effects.append(.resume(waiter, .failure(.cancelled)))
      depart(id, entry, &state, &effects)
      settle(entry, &state, &effects)
    }
  }

  /// Takes a party out of the flight of `entry`.
  func depart(_ id: Flight.PartyID, _ entry: Entry, _ state: inout State, _ effects: inout [Effect]) {
    let actions = entry.flight?.machine.leave(id) ?? []
    if case .end? = actions.last { append(entry.key, .cancelled) }
    apply(actions, to: entry, &effects)
  }
}

extension ReactorEngine {
  func start(_ work: Work) {
    let task = spawn(on: flow.configuration.taskExecutor, priority: work.task.priority, for: work.owner) {
      await self.run(work)
    }
    work.task.attach(task)
  }

  private func run(_ work: Work) async {
    switch work.step {
    case .load: await load(work)
    case .request(let loaded): await request(work, loaded)
    }
  }

  private func load(_ work: Work) async {
    var failure: ReactorError?
    var loaded: Snapshot<AnyModel>?
    do {
      loaded = try await core.gate.with(work.key) {
        core.generations.isBeingRemoved(work.key) ? nil : try await flow.loadFromPersistence(work.resource)
      }
    } catch {
      failure = ReactorError(error, wrap: ReactorError.persistence)
    }
    let now = now
    transact { [loaded, failure] state, effects in
      guard let entry = current(work, state) else { return }
      if let loaded { adopt(loaded, entry, for: work.resource, at: now, &state, &effects) }
      let copy = { self.standing(entry.copy, for: $0, at: now) }
      if let failure {
        append(work.key, .loadFailed(failure))
      } else {
        append(
          work.key, loaded == nil ? .persistenceMiss : .persistenceHit(isFresh: copy(work.resource)?.isFresh ?? false))
      }
      apply(entry.flight?.machine.loaded(copy: copy) ?? [], to: entry, loaded: Persisted(snapshot: loaded), &effects)
      settle(entry, &state, &effects)
    }
  }

  private func request(_ work: Work, _ loaded: Persisted?) async {
    guard flow.isReachable else { return unreachable(work) }
    _ = now
    let lead = reader.rule.steps.lead
    let known = loaded?.snapshot ?? state.withLock { current(work, $0)?.copy?.snapshot }
    var context = FetchContext(stale: known?.isSelected(by: work.resource) == true ? known : nil)
    context.hasAskedPersistence = loaded != nil
    // Who keeps the closure must keep neither the generation nor the task.
    context.progress = { [weak self, key = work.key, flight = work.flight] in self?.advance(key, flight, to: $0) }
    do {
      let snapshot = try await flow.network(work.resource, context)
      let saved = flow.configuration.waitsForSave ? await save(snapshot, work.resource, work.ticket) : nil
      if case .failed(let error) = saved, flow.configuration.failsWhenSaveFails { return fail(work, error) }
      // Who gets the answer finds it with the layer's other reactors too.
      if case .saved = saved { core.announce(.stored(work.key, work.ticket.number), except: self) }
      guard succeed(work, snapshot, lead: lead), saved == nil else { return }
      if case .saved = await save(snapshot, work.resource, work.ticket) {
        core.announce(.stored(work.key, work.ticket.number), except: self)
      }
    } catch {
      fail(work, ReactorError(error, wrap: ReactorError.network))
    }
  }

  /// The entry whose flight `work` belongs to; `nil` where that is over, or another.
  private func current(_ work: Work, _ state: borrowing State) -> Entry? {
    current(work.key, work.flight, state)
  }

  private func current(_ key: RecordKey, _ flight: UInt64, _ state: borrowing State) -> Entry? {
    guard let entry = state.memory.entries[key], entry.flight?.machine.id == flight else { return nil }
    return entry
  }

  private func unreachable(_ work: Work) {
    let now = now
    let isPaused = transact { state, effects in
      guard let entry = current(work, state) else { return false }
      let actions = entry.flight?.machine.unreachable { standing(entry.copy, for: $0, at: now) } ?? []
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

  private func fail(_ work: Work, _ error: ReactorError) {
    let now = now
    transact { state, effects in
      guard let entry = current(work, state) else { return }
      // A cancellation too: nobody has cancelled a flight that is still there, so the step has failed by itself.
      entry.error = error
      entry.attemptedAt = state.time
      append(work.key, .failed(error))
      let wasStoredMeanwhile = entry.flight?.wasStoredMeanwhile == true
      apply(entry.flight?.machine.failed(error) { standing(entry.copy, for: $0, at: now) } ?? [], to: entry, &effects)
      if wasStoredMeanwhile { refresh(entry, isStored: true, at: now, &state, &effects) }
      settle(entry, &state, &effects)
    }
  }

  /// Gives the answer to whoever waits, unless something newer is known; then the flight begins again.
  ///
  /// - Parameter lead: the wall clock's when the request began.
  private func succeed(_ work: Work, _ snapshot: Snapshot<AnyModel>, lead: Double) -> Bool {
    let now = now
    return transact { state, effects in
      guard let entry = current(work, state) else { return false }
      guard work.ticket.commit() else {
        supersede(entry, at: now, &state, &effects)
        settle(entry, &state, &effects)
        return false
      }
      work.task.release()
      let cost = snapshot.record?.body.count ?? entry.copy?.cost
      let copy = Copy(snapshot, of: entry.key, origin: .network, cost: cost, lead: max(lead, reader.rule.steps.lead))
      setCopy(copy, of: entry, &state, &effects)
      entry.brought(by: work.ticket.number)
      entry.error = nil
      entry.attemptedAt = state.time
      entry.invalidatedBefore = nil
      entry.showToAll()
      // A request with the same fields is answered, whatever the step says that the answer varies on.
      let actions = entry.flight?.machine.succeeded { resource in
        resource.headers == work.resource.headers || !copy.isAnotherVariant(for: resource)
      }
      apply(actions ?? [], to: entry, &effects)
      restart(entry, at: now, &state, &effects)
      settle(entry, &state, &effects)
      return true
    }
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
  private func adopt(
    _ loaded: Snapshot<AnyModel>, _ entry: Entry, for resource: Resource, at now: Date, _ state: inout State,
    _ effects: inout [Effect]
  ) {
    var copy = Copy(loaded, of: entry.key, origin: .persistence, lead: reader.rule.steps.lead)
    // One from the future may be from before as well: the clock was set back since.
    if let date = entry.invalidatedBefore, copy.askedAt <= date || copy.askedAt > now {
      copy = copy.invalidated(at: date)
    }
    var isLoaded = true
    // Another variant, however new, is no answer to what was asked for.
    if let old = entry.copy, !entry.isOutdated, !old.isAnotherVariant(for: resource) {
      if old.isNewer(thanStored: copy, at: now) { return }
      if old.fetchedAt == copy.fetchedAt {
        guard let date = copy.freshness.invalidatedAt else { return }
        copy = old.invalidated(at: date)
        isLoaded = false
      }
    }
    setCopy(copy, of: entry, &state, &effects)
    if isLoaded { entry.brought(by: 0) }
    if standing(copy, for: resource, at: now)?.isFresh == true { entry.error = nil }
  }
}
