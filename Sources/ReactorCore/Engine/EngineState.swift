import Foundation

/// Everything that a reactor's lock guards, and the effects of what was changed under it.
///
/// Each method runs under the lock: it changes entries, puts down events and effects, and calls nobody's code. ``ReactorEngine``
/// locks, calls one method, unlocks, and then runs the effects (``ReactorEngine/update(_:)``).
struct EngineState: ~Copyable {
  typealias Entry = KeyState
  typealias Outcome = KeyState.Outcome

  var memory: ModelMemory<Entry>
  /// The clock's time since the reactor was made, read before the lock was taken: the clock is its user's.
  private(set) var time: Duration = .zero
  /// The wall clock's time, read then; `nil` unless ``ReactorConfiguration/revalidatesWhenStale``.
  private(set) var date: Date?
  /// Set while models wait for their eviction.
  var sweeper: TaskHandle?
  /// Set while somebody subscribes.
  var reachabilityWatcher: TaskHandle?
  var subscriberCount = 0
  /// Set while somebody polls.
  var powerWatcher: TaskHandle?
  var pollerCount = 0
  var isSavingPower = false
  /// Run by the shell, in this order, once the lock is free.
  var effects: [Effect] = []
  private var revision: UInt64 = 0
  private var lastFlightID: UInt64 = 0

  let layer: LayerContext
  let configuration: ReactorConfiguration
  let rule: FreshnessRule
  /// The model's, for events.
  let name: String

  init(_ layer: LayerContext, _ configuration: ReactorConfiguration, _ reader: MemoryReader, name: String) {
    memory = ModelMemory(
      limit: configuration.memoryLimit, keepUnusedFor: configuration.keepUnusedFor, hits: reader.table)
    rule = reader.rule
    self.layer = layer
    self.configuration = configuration
    self.name = name
  }

  /// 100 years: an instant beyond what a clock can count to would trap.
  static var longest: Duration { .seconds(100 * 365 * 86_400) }

  /// Begins a change at these times.
  mutating func begin(at time: Duration, _ date: Date?) {
    self.time = max(self.time, time)
    self.date = date
  }

  /// Ends a change, and returns its effects.
  mutating func consumeEffects() -> [Effect] {
    for entry in memory.consumeRemoved() {
      layer.changes.note(entry.key)
      effects.append(.release(entry.belongings))
    }
    var taken: [Effect] = []
    swap(&taken, &effects)
    return taken
  }

  /// Puts an event down, to be delivered once the lock is free.
  func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    layer.events.append(ReactorEvent(key: key, model: name, kind: kind()))
  }

  mutating func nextFlightID() -> UInt64 {
    lastFlightID += 1
    return lastFlightID
  }

  /// The status of a copy for `resource`; `nil` where there is none that may be kept, or it is another variant.
  func status(of copy: CachedModel?, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.flatMap { rule.status(of: $0, for: resource, at: now) }
  }

  /// The status, for `resource`, of the copy in memory. The key's flight may have a copy of another variant than the key.
  func status(of entry: Entry, for resource: Resource, at now: Date) -> CopyStatus? {
    status(of: entry.copy(answering: resource), for: resource, at: now)
  }
}

extension EngineState {
  /// The entry of `key`, made if there is none.
  mutating func entry(of key: RecordKey, as resource: Resource) -> Entry {
    if let entry = memory.entry(of: key, as: resource) { return entry }
    let entry = Entry(key: key, revision: revision)
    memory.insert(entry, as: resource)
    memory.touch(entry, at: time)
    return entry
  }

  /// Gives `entry` another copy, keeps the memory within its bounds, and sees to its eviction.
  mutating func setCopy(_ copy: CachedModel?, of entry: Entry) {
    let isNewValue = copy?.isSameValue(as: entry.copy) != true
    let released = [entry.copy].compactMap(\.self) + entry.subscribers.values.compactMap(\.ownVariant)
    if !released.isEmpty { effects.append(.release(released)) }
    let (models, bytes) = entry.setCopy(copy, isNewValue: isNewValue)
    memory.account(models: models, bytes: bytes)
    // What has come is read once its event is put down; what goes is not read any more when that is.
    entry.needsPublishing = copy != nil && isNewValue
    if !entry.needsPublishing { memory.publish(entry) }
    guard copy != nil else { return }
    memory.touch(entry, at: time)
  }

  /// Notifies the streams, and lets go of what is neither known nor wanted. Ends each change of an entry.
  mutating func publishChanges(of entry: Entry) {
    if entry.copy?.freshness.isNoStore == true, entry.subscribers.isEmpty { setCopy(nil, of: entry) }
    if entry.needsPublishing {
      entry.needsPublishing = false
      memory.publish(entry)
    }
    if entry.hasNews {
      revision += 1
      for (continuation, snapshot) in entry.publish(revision: revision) {
        effects.append(.deliver(continuation, snapshot))
      }
    }
    layer.changes.note(entry.key)
    setWakeup(entry)
    let replaced = entry.consumeReplaced()
    if !replaced.isEmpty { effects.append(.release(replaced)) }
    if entry.isPinned || entry.copy != nil || entry.invalidatedBefore != nil {
      memory.updateUse(of: entry)
    } else {
      memory.remove(entry.key)
    }
    for key in memory.trim() { append(key, .evicted) }
    scheduleSweep()
  }

  /// Sees to it that what is unused leaves memory in time: one task sleeps until the next is due.
  private mutating func scheduleSweep() {
    guard sweeper == nil, configuration.keepUnusedFor < .never, !memory.entries.isEmpty else { return }
    let task = TaskHandle(priority: nil)
    sweeper = task
    effects.append(.sweep(task))
  }

  /// Evicts what is due at `now`; gives how long to wait for the next, `nil` where there is nothing to wait for.
  mutating func sweep(at now: Duration) -> Duration? {
    let (gone, next) = memory.sweep(at: now)
    for key in gone { append(key, .evicted) }
    // With nothing to wait for, or only what is observed: the next change of an entry begins anew.
    if next == nil { sweeper = nil }
    return next.map { max($0 - now, .milliseconds(1)) }
  }
}

extension EngineState {
  /// A local write: memory and streams have it at once, and whoever waits gets it.
  ///
  /// - Returns: the ticket to persist it under. It is drawn in one step with the change of memory: whatever is begun later finds
  ///   the value there.
  mutating func write(
    _ snapshot: Snapshot<AnyModel>, _ key: RecordKey, for resource: Resource, lead: Double
  ) -> Generations.Ticket {
    let ticket = layer.generations.beginWrite(key)
    let entry = entry(of: key, as: resource)
    let copy = CachedModel(snapshot, of: key, origin: .local, lead: lead, generation: ticket.number)
    setCopy(copy, of: entry)
    entry.clearOutdated()
    entry.error = nil
    entry.invalidatedBefore = nil
    entry.showToAll()
    if entry.flight != nil { append(entry.key, .superseded) }
    append(entry.key, .savedLocally)
    enqueue(entry.flight?.machine.succeeded() ?? [], for: entry)
    publishChanges(of: entry)
    return ticket
  }

  /// Declares the copy of `key` stale, if memory knows the key.
  mutating func invalidate(_ key: RecordKey, at date: Date) {
    if let entry = memory.entries[key] { invalidate(entry, at: date) }
  }

  /// Declares the copy of `resource` stale. Memory knows of it from then on: what is on disk is from before.
  mutating func invalidate(_ key: RecordKey, as resource: Resource, at date: Date) {
    invalidate(entry(of: key, as: resource), at: date)
  }

  /// Declares the copy stale; streams ask anew, and so does a flight that is under way.
  private mutating func invalidate(_ entry: Entry, at date: Date) {
    entry.invalidatedBefore = date
    if let copy = entry.copy { setCopy(copy.invalidated(at: date), of: entry) }
    entry.invalidateVariants(at: date)
    append(entry.key, .invalidated)
    restart(entry, because: .change, at: date)
    refresh(entry, at: date)
    publishChanges(of: entry)
  }

  /// The record is marked, and nobody has read it meanwhile: what memory has no copy of, it need not know of.
  mutating func forgetInvalidation(of key: RecordKey) {
    guard let entry = memory.entries[key], entry.copy == nil, !entry.isPinned else { return }
    entry.invalidatedBefore = nil
    publishChanges(of: entry)
  }

  /// Forgets `key`, or all: their flights end, their callers are cancelled, their streams show nothing.
  mutating func forget(_ key: RecordKey?) {
    let forgotten = key.map { [memory.entries[$0]].compactMap(\.self) } ?? memory.entriesInOrder
    for entry in forgotten {
      for continuation in entry.removeContinuations() { effects.append(.resume(continuation, .failure(.cancelled))) }
      if entry.flight != nil { append(entry.key, .cancelled) }
      endFlight(of: entry)
      setCopy(nil, of: entry)
      entry.error = nil
      entry.invalidatedBefore = nil
      entry.isForgotten = true
      append(entry.key, .removed)
      publishChanges(of: entry)
    }
  }

  /// Declares stale what is older than another reactor's record of `variant`. Streams read that, where it is of their type.
  /// They do not ask the network: after a local write its answer would replace what was written.
  ///
  /// - Parameter isStored: `false` for what is in the other reactor's memory alone: what is on disk is older then.
  mutating func outdate(
    _ key: RecordKey, by number: Generation, _ variant: Variant?, isStored: Bool, isWritten: Bool, at now: Date
  ) {
    guard let entry = memory.entries[key] else { return }
    let isMeant = { (copy: CachedModel) in !copy.isAnotherVariant(than: variant) }
    if let copy = entry.copy, isMeant(copy), copy.generation < number {
      setCopy(copy.invalidated(at: now), of: entry)
      if isStored { entry.outdate(by: variant) }
    }
    entry.invalidateVariants(at: now, where: isMeant)
    switch entry.flight?.machine.isPaused {
    case nil: if isStored { refresh(entry, isStored: true, at: now) }
    case true?: restart(entry, because: .newRecord, at: now)
    case false?:
      entry.flight?.wasStoredMeanwhile = true
      if isWritten { entry.flight?.isBeforeWrite = true }
    }
    publishChanges(of: entry)
  }
}

/// Work that a change asks for, done once the lock is free.
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
  /// Values that the state has let go of: they end here, since a user's `deinit` may call the reactor.
  case release([any Sendable])
}
