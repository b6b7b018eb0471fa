import Foundation
import Synchronization

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
  func read(_ step: FlightStep) async -> LoadResult {
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

  /// Returns a snapshot that has arrived with its presentation. A model that is in memory already
  /// keeps its presentation.
  func presented(_ snapshot: Snapshot<AnyModel>, of key: RecordKey) -> Snapshot<AnyModel> {
    guard let presentation = flow.presentation else { return snapshot }
    var snapshot = snapshot
    let known = state.withLock { $0.memory.entries[key]?.copy }
    if let known, known.model.isSame(as: snapshot.model) {
      snapshot.presented = known.presented
    } else {
      snapshot.presented = presentation.arrived(snapshot.model, at: now)
    }
    return snapshot
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

  /// Merges a loaded record into memory, unless memory has something newer.
  ///
  /// - Parameters:
  ///   - number: the number of the latest change on disk when the record was read; zero if unknown.
  ///   - isOld: `true` if a newer record has been stored since the load.
  mutating func merge(
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

  /// Returns the request of the same flight, whose handle cancels the task that runs it.
  func request(_ loaded: LoadResult) -> FlightStep {
    FlightStep(
      step: .request(loaded), key: key, flight: flight, resource: resource, ticket: ticket, task: task, owner: owner)
  }
}
