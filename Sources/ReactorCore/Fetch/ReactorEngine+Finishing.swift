import Foundation
import Synchronization

extension ReactorEngine {
  /// Saves a response and resolves the waiters, in the order that
  /// ``ReactorConfiguration/saving`` sets.
  ///
  /// - Parameter lead: the wall clock's lead when the request began; see ``ClockSteps/lead``.
  func finish(_ step: FlightStep, _ received: Snapshot<AnyModel>, lead: Double) async {
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

  func fail(_ step: FlightStep, _ error: ReactorError, wasSent: Bool = true) {
    let now = now
    update { $0.failed(step, error, wasSent: wasSent, at: now) }
  }
}

extension EngineState {
  enum Commit { case isCommitted, isOvertaken, isOver }

  /// Commits the network's response and resolves the waiters, unless something newer was committed.
  ///
  /// - Parameters:
  ///   - lead: the wall clock's lead when the request began; see ``ClockSteps/lead``.
  ///   - isSaved: `true` if the response is saved already.
  mutating func succeeded(
    _ step: FlightStep, _ snapshot: Snapshot<AnyModel>, lead: Double, isSaved: Bool, at now: Date
  ) -> Commit {
    guard let entry = entry(of: step) else { return .isOver }
    entry.flight?.record?.answer()
    entry.pollableAt = snapshot.head.flatMap { configuration.retry.pollingPause(after: $0.fields) }.map { time + $0 }
    guard step.ticket.commit() else { return .isOvertaken }
    step.task.release()
    let copy = copy(snapshot, entry, lead: lead, step.ticket.number)
    copy.note(isSaved: isSaved)
    setCopy(copy, of: entry)
    if copy.freshness.invalidatedAt != nil, !entry.subscribers.isEmpty { effects.append(.tellOutdated(entry.key)) }
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
    let stored = newer?.snapshot.map { CachedModel($0, of: entry.key, origin: .persistence) }
    // A record that would not replace the held copy does not replace the response either. The copy
    // and the response have numbers; dates mislead if the clock was set back meanwhile.
    if let newer = newer?.snapshot, let stored, !own.isNewer(thanStored: stored, at: now),
      held === entry.copy && entry.isOutdated(by: stored) || held?.isNewer(thanStored: stored, at: now) != true
    {
      merge(newer, from: version, entry, for: step.resource, at: now)
    } else if !isNewer(held, than: own, at: now) {
      // What is on disk is from before its request.
      if !step.ticket.isOutrunOnDisk { own.note(isSaved: false) }
      setCopy(own.invalidated(at: now), of: entry)
      entry.clearOutdated()
    }
    finish(step, entry, at: now)
  }

  /// Compares a held copy with a flight's response by the numbers of their requests. A loaded copy
  /// has none: it is older than a request that was sent after it arrived, and is compared by its
  /// dates otherwise.
  func isNewer(_ held: CachedModel?, than own: CachedModel, at now: Date) -> Bool {
    guard let held else { return false }
    guard held.generation == 0 else { return held.generation > own.generation }
    return !held.arrived(before: own.generation) && held.isNewer(thanStored: own, at: now)
  }

  private func copy(
    _ snapshot: Snapshot<AnyModel>, _ entry: Entry, lead: Double, _ generation: Generation
  ) -> CachedModel {
    let cost = snapshot.record?.body.count ?? entry.copy?.cost
    let copy = CachedModel(
      snapshot, of: entry.key, origin: snapshot.isShared ? .fleet : .network, cost: cost,
      lead: max(lead, rule.steps.lead), generation: generation)
    // The server may have told a change while the response was being saved.
    let head = snapshot.head
    let date = layer.marks.date(of: entry.key, head?.strongTag, head?.groups ?? [], after: generation)
    return date.map(copy.invalidated) ?? copy
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

  /// Processes the failure of a step. A thrown cancellation is a failure too: a flight that still
  /// exists was not cancelled.
  ///
  /// - Parameter wasSent: `false` if the error is an earlier request's, of an outage.
  mutating func failed(_ step: FlightStep, _ error: ReactorError, wasSent: Bool, at now: Date) {
    guard let entry = entry(of: step) else { return }
    entry.error = error
    entry.wasRefused = !wasSent
    entry.attemptedAt = time
    if wasSent, case .server(let response, _) = error {
      let pause = configuration.retry.pollingPause(after: response.headerFields, failedAt: now)
      entry.pollableAt = pause.map { time + $0 }
    }
    append(step.key, wasSent ? .failed(error) : .failedInOutage(error))
    let wasStoredMeanwhile = entry.flight?.wasStoredMeanwhile == true
    enqueue(entry.flight?.machine.failed(error) { status(of: entry, for: $0, at: now) } ?? [], for: entry)
    if wasStoredMeanwhile { refresh(entry, isStored: true, at: now) }
    publishChanges(of: entry)
  }

  /// Records that a response or a local write is saved, if memory has it.
  func noteSaved(_ ticket: Generations.Ticket) {
    guard let entry = memory.entries[ticket.key] else { return }
    for copy in entry.copies where copy.generation == ticket.number { copy.note(isSaved: true) }
  }
}
