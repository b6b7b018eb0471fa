import Foundation
import Synchronization

/// What is to be done once the lock is free.
enum Effect: Sendable {
  case resume(CheckedContinuation<KeyState.Outcome, Never>, KeyState.Outcome)
  case deliver(CheckedContinuation<KeySnapshot?, Never>, KeySnapshot?)
  case start(FlightStep)
  /// A task's wait for a flight that was under way.
  case add(LockOwner.Wait, to: LockOwner)
  case cancel([TaskHandle])
  case escalate([TaskHandle], TaskPriority)
  case sweep(TaskHandle)
  case watchReachability(TaskHandle)
  case watchPower(TaskHandle)
  case wakeUp(TaskHandle, RecordKey, at: Duration)
  /// What the state has let go of: it ends here, since a user's `deinit` may call the reactor.
  case release([any Sendable])
}

/// What persistence had when it was asked.
struct LoadResult: Sendable {
  let resource: Resource
  var snapshot: Snapshot<AnyModel>?
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

extension ReactorEngine {
  /// Changes the state under the lock, then delivers the events and does what was asked for.
  func transact<Result: Sendable>(
    _ change: (inout State, inout [Effect]) -> Result
  ) -> Result {
    let time = elapsed()
    let date = flow.configuration.revalidatesWhenStale ? now : nil
    let (result, effects) = state.withLock { state in
      var effects: [Effect] = []
      state.time = max(state.time, time)
      state.date = date
      let result = change(&state, &effects)
      for entry in state.memory.takeRemoved() {
        core.changes.note(entry.key)
        effects.append(.release(entry.belongings))
      }
      return (result, effects)
    }
    core.events.deliver()
    for effect in effects { perform(effect) }
    return result
  }

  func perform(_ effect: Effect) {
    switch effect {
    case .resume(let continuation, let outcome): continuation.resume(returning: outcome)
    case .deliver(let continuation, let snapshot): continuation.resume(returning: snapshot)
    case .start(let work): start(work)
    case .add(let wait, let owner): KeyedAsyncLock.add(wait, to: owner)
    case .cancel(let tasks): for task in tasks { task.cancel() }
    case .escalate(let tasks, let priority): for task in tasks { task.escalate(to: priority) }
    case .sweep(let task): startSweeping(task)
    case .watchReachability(let task): startWatchingReachability(task)
    case .watchPower(let task): startWatchingPower(task)
    case .wakeUp(let task, let key, let time): startWakeup(task, key, at: time)
    case .release: break
    }
  }

  /// Does what a flight's state machine asks for.
  ///
  /// - Parameter loaded: what persistence had, for the request that follows.
  func apply(
    _ actions: [FlightMachine.Action], to entry: Entry, loaded: LoadResult? = nil, _ effects: inout [Effect]
  ) {
    for action in actions {
      switch action {
      case .load(let resource): begin(.load, resource, for: entry, &effects)
      case .request(let resource):
        let own = loaded?.resource.headers == resource.headers ? loaded : nil
        begin(.request(own), resource, for: entry, &effects)
      case .use(let waiter): use(waiter, entry, &effects)
      case .fail(let waiter, let error): fail(waiter, error, entry, &effects)
      case .end: endFlight(of: entry, &effects)
      }
    }
  }

  private func begin(_ step: FlightStep.Step, _ resource: Resource, for entry: Entry, _ effects: inout [Effect]) {
    guard let flight = entry.flight else { return }
    let task = TaskHandle(priority: flight.priority)
    flight.tasks.append(task)
    effects.append(
      .start(
        FlightStep(
          step: step, key: entry.key, flight: flight.machine.id, resource: resource, ticket: flight.ticket, task: task,
          owner: flight.owner)))
  }

  private func use(_ waiter: FlightMachine.Waiter, _ entry: Entry, _ effects: inout [Effect]) {
    let copy = entry.copy(answering: waiter.resource)
    guard waiter.kind == .caller else { return entry.show(copy, to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    guard let copy = copy ?? entry.copy else { return effects.append(.resume(continuation, .failure(.notCached))) }
    effects.append(.resume(continuation, .success(copy)))
  }

  private func fail(
    _ waiter: FlightMachine.Waiter, _ error: ReactorError, _ entry: Entry, _ effects: inout [Effect]
  ) {
    if case .notCached = error { entry.denyCached(to: waiter.id) }
    guard let continuation = entry.removeContinuation(waiter.id) else { return }
    effects.append(.resume(continuation, .failure(error)))
  }

  /// Nobody waits any more: what still runs is cancelled, unless it is past that.
  func endFlight(of entry: Entry, _ effects: inout [Effect]) {
    guard let flight = entry.flight else { return }
    if !flight.tasks.isEmpty { effects.append(.cancel(flight.tasks)) }
    effects.append(.release([flight.machine, flight.variants]))
    entry.flight = nil
  }

  /// Drops what the flight would have brought, and begins it again: what it would bring was asked for before a change.
  func supersede(_ entry: Entry, at now: Date, _ state: inout State, _ effects: inout [Effect]) {
    guard entry.flight != nil else { return }
    append(entry.key, .superseded)
    restart(entry, at: now, &state, &effects)
  }

  /// Begins the flight again under a new generation, for the waiters that wait.
  func restart(_ entry: Entry, at now: Date, _ state: inout State, _ effects: inout [Effect]) {
    guard let old = entry.flight else { return }
    endFlight(of: entry, &effects)
    let (machine, actions) = old.machine.restarted(id: nextID()) { standing(entry, for: $0, at: now) }
    entry.flight = Flight(machine, under: core.generations.beginFetch(entry.key), priority: old.priority)
    apply(actions, to: entry, &effects)
  }

  /// Joins `waiter` to the flight of `entry`, which is begun if there is none.
  func join(
    _ waiter: FlightMachine.Waiter, _ entry: Entry, at now: Date, priority: TaskPriority? = nil, _ state: inout State,
    _ effects: inout [Effect]
  ) {
    if waiter.policy != .cacheOnly {
      entry.isForgotten = false
      // Its answer was begun before another reactor's write; this waiter asks after it.
      if entry.flight?.isBeforeWrite == true { supersede(entry, at: now, &state, &effects) }
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
        FlightMachine(id: nextID()), under: core.generations.beginFetch(entry.key), priority: priority)
      // Nothing of it is queued yet.
      if let wait = waiter.wait { entry.flight?.owner.add(wait) }
    }
    let actions = entry.flight?.machine.join(waiter) { standing(entry, for: $0, at: now) } ?? []
    apply(actions, to: entry, &effects)
  }

  /// Gives `entry` another copy, keeps the memory within its bounds, and sees to its eviction.
  func setCopy(
    _ copy: CachedModel?, of entry: Entry, _ state: inout State, _ effects: inout [Effect]
  ) {
    let isNewValue = copy?.isSameValue(as: entry.copy) != true
    let released = [entry.copy].compactMap(\.self) + entry.subscribers.values.compactMap(\.ownVariant)
    if !released.isEmpty { effects.append(.release(released)) }
    let (models, bytes) = entry.setCopy(copy, isNewValue: isNewValue)
    state.memory.account(models: models, bytes: bytes)
    // What has come is read once its event is put down; what goes is not read any more when that is.
    entry.needsPublishing = copy != nil && isNewValue
    if !entry.needsPublishing { state.memory.publish(entry) }
    guard copy != nil else { return }
    state.memory.touch(entry, at: state.time)
  }

  /// Tells the streams, and lets go of what is neither known nor wanted. Ends each change of an entry.
  func settle(_ entry: Entry, _ state: inout State, _ effects: inout [Effect]) {
    if entry.copy?.freshness.isNoStore == true, entry.subscribers.isEmpty {
      setCopy(nil, of: entry, &state, &effects)
    }
    if entry.needsPublishing {
      entry.needsPublishing = false
      state.memory.publish(entry)
    }
    if entry.hasNews {
      state.revision += 1
      for (continuation, snapshot) in entry.publish(revision: state.revision) {
        effects.append(.deliver(continuation, snapshot))
      }
    }
    core.changes.note(entry.key)
    setWakeup(entry, &state, &effects)
    let replaced = entry.takeReplaced()
    if !replaced.isEmpty { effects.append(.release(replaced)) }
    if entry.isPinned || entry.copy != nil || entry.invalidatedBefore != nil {
      state.memory.settle(entry)
    } else {
      state.memory.remove(entry.key)
    }
    for key in state.memory.trim() { append(key, .evicted) }
    scheduleSweep(&state, &effects)
  }

  /// The entry of `key`, made if there is none.
  func entry(of key: RecordKey, as resource: Resource, _ state: inout State) -> Entry {
    if let entry = state.memory.entry(of: key, as: resource) { return entry }
    let entry = Entry(key: key, revision: state.revision)
    state.memory.insert(entry, as: resource)
    state.memory.touch(entry, at: state.time)
    return entry
  }
}
