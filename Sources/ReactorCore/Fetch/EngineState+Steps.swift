import Foundation

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
    if let snapshot = result.snapshot, !(isOld && entry.flight?.foundNothing == true) {
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
    if let old = entry.copy?.head?.strongTag, old != copy.head?.strongTag { entry.replacedTag = old }
    setCopy(copy, of: entry)
    if copy.freshness.invalidatedAt != nil, !entry.subscribers.isEmpty { effects.append(.tellOutdated(entry.key)) }
    entry.clearOutdated()
    // Other variants may be on disk without the invalidation's mark.
    if copy.head?.variant?.isMatchable != true { entry.invalidatedBefore = nil }
    finish(step, entry, at: now)
    return .isCommitted
  }

  /// Records that a response or a local write is saved, if memory has it.
  func noteSaved(_ ticket: Generations.Ticket) {
    guard let entry = memory.entries[ticket.key] else { return }
    for copy in entry.copies where copy.generation == ticket.number { copy.note(isSaved: true) }
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
  private func isNewer(_ held: CachedModel?, than own: CachedModel, at now: Date) -> Bool {
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
    var isMarked = false
    // Later records were asked for by another reactor, which is told by itself.
    let isFirst = entry.copy == nil
    if let head = loaded.head, head.localModel == nil, let date = layer.marks.date(of: entry.key, head, at: now) {
      (copy, isMarked) = (copy.invalidated(at: date), true)
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
      if presentation != nil { noteArrival(of: copy) }
      return entry.storeAside(copy)
    }
    setCopy(copy, of: entry)
    // The flight that has loaded it may fail, and no later change may concern the key.
    if isMarked, isFirst, !entry.subscribers.isEmpty { effects.append(.tellOutdated(entry.key)) }
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
