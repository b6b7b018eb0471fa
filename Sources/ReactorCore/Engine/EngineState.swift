import Foundation

/// The state that a reactor's lock guards, and the effects that its changes produce.
///
/// Each method runs under the lock. It changes entries, appends events and effects, and never calls
/// user code. ``ReactorEngine/update(_:)`` locks, calls one method, unlocks, and then runs the
/// effects.
struct EngineState: ~Copyable {
  typealias Entry = KeyState
  typealias Outcome = KeyState.Outcome

  var memory: ModelMemory<Entry>
  /// The time on the configuration's clock since the reactor was created. The shell reads it before
  /// it locks, because the clock is user code.
  private(set) var time: Duration = .zero
  /// The wall clock's time, read at the same moment; `nil` unless
  /// ``ReactorConfiguration/revalidatesWhenStale`` is set.
  private(set) var date: Date?
  /// The task that evicts unused entries; `nil` while no entry can become due.
  var sweeper: TaskHandle?
  /// The task that follows reachability; `nil` while there are no subscribers.
  var reachabilityWatcher: TaskHandle?
  var subscriberCount = 0
  /// The task that follows low power mode; `nil` while no stream polls.
  var powerWatcher: TaskHandle?
  var pollerCount = 0
  var isSavingPower = false
  /// The effects that the shell runs, in this order, after it unlocks.
  var effects: [Effect] = []
  /// The models that were evicted from memory so far.
  private(set) var evictions: UInt64 = 0
  private var revision: UInt64 = 0
  private var lastFlightID: UInt64 = 0

  let layer: LayerContext
  let configuration: ReactorConfiguration
  let rule: FreshnessRule
  /// The name of the model type, for events.
  let name: String
  /// The model type, by which the changes over its values are found.
  let model: ObjectIdentifier
  /// The presentation of its models; `nil` if the type has none.
  let presentation: (any ModelPresentation)?

  init(
    _ layer: LayerContext, _ configuration: ReactorConfiguration, _ reader: MemoryReader, name: String,
    model: ObjectIdentifier, presentation: (any ModelPresentation)?
  ) {
    memory = ModelMemory(
      limit: configuration.memoryLimit, keepUnusedFor: configuration.keepUnusedFor, hits: reader.table)
    rule = reader.rule
    self.layer = layer
    self.configuration = configuration
    self.name = name
    self.model = model
    self.presentation = presentation
  }

  /// 100 years, the longest wait. An instant beyond the range of a clock would trap.
  static var longest: Duration { .seconds(100 * 365 * 86_400) }

  /// Begins a change at these times.
  mutating func begin(at time: Duration, _ date: Date?) {
    self.time = max(self.time, time)
    self.date = date
  }

  /// Ends a change and returns its effects.
  mutating func consumeEffects() -> [Effect] {
    for entry in memory.consumeRemoved() {
      layer.changes.note(entry.key)
      effects.append(.release(entry.belongings))
    }
    var taken: [Effect] = []
    swap(&taken, &effects)
    return taken
  }

  /// Queues an event, which is delivered after the lock is released.
  func append(_ key: RecordKey, _ kind: @autoclosure () -> ReactorEvent.Kind) {
    layer.events.append(ReactorEvent(key: key, model: name, kind: kind()))
  }

  private mutating func noteEviction(of key: RecordKey) {
    evictions += 1
    append(key, .evicted)
  }

  mutating func nextFlightID() -> UInt64 {
    lastFlightID += 1
    return lastFlightID
  }

  /// Returns the status of a copy for `resource`; `nil` if there is no copy, if it may not be
  /// stored, or if it is another variant.
  func status(of copy: CachedModel?, for resource: Resource, at now: Date) -> CopyStatus? {
    copy.flatMap { rule.status(of: $0, for: resource, at: now) }
  }

  /// Returns the status of the copy in memory that answers `resource`. The flight may hold that
  /// copy, if the key's copy is another variant.
  func status(of entry: Entry, for resource: Resource, at now: Date) -> CopyStatus? {
    status(of: entry.copy(answering: resource), for: resource, at: now)
  }
}

extension EngineState {
  /// Returns the entry of `key`, and creates it if needed. `resource` leads to it from now on.
  mutating func entry(of key: RecordKey, as resource: Resource) -> Entry {
    if let entry = memory.entry(of: key, as: resource) { return entry }
    let entry = Entry(key: key, revision: revision)
    entry.begin(with: changes(of: key))
    memory.insert(entry, as: resource)
    memory.touch(entry, at: time)
    return entry
  }

  /// Returns the entry of `key`; if there are only changes over it, an entry that is not in memory.
  mutating func visibleEntry(of key: RecordKey, as resource: Resource) -> Entry? {
    if let entry = memory.entry(of: key, as: resource) { return entry }
    guard let changes = changes(of: key) else { return nil }
    let entry = Entry(key: key, revision: revision)
    entry.begin(with: changes)
    return entry
  }

  /// Replaces the copy of `entry`, updates the memory's totals, and marks the entry as used.
  mutating func setCopy(_ copy: CachedModel?, of entry: Entry) {
    let isNewValue = copy?.isSameValue(as: entry.copy) != true
    let released = [entry.copy].compactMap(\.self) + entry.subscribers.all.compactMap(\.ownVariant)
    if !released.isEmpty { effects.append(.release(released)) }
    if isNewValue { noteReplaced(entry, by: copy) }
    let (models, bytes) = entry.setCopy(copy, isNewValue: isNewValue)
    memory.account(models: models, bytes: bytes)
    if presentation != nil, let copy { noteArrival(of: copy) }
    // Readers find a new value after its event is queued. A removed value is hidden from them
    // before its event is queued.
    entry.needsPublishing = copy != nil && isNewValue
    if !entry.needsPublishing { memory.publish(entry) }
    guard copy != nil else { return }
    memory.touch(entry, at: time)
  }

  /// Notes the tag of the version that another one of the same variant replaces.
  private func noteReplaced(_ entry: Entry, by copy: CachedModel?) {
    guard let copy else { return entry.replacedTag = nil }
    guard let old = entry.copy, !old.isLocal, !old.isAnotherVariant(than: copy.head?.variant),
      let tag = old.head?.strongTag, tag != copy.head?.strongTag
    else { return }
    entry.replacedTag = tag
  }

  /// Notifies the streams of `entry`, removes the entry if nothing needs it, and trims the memory.
  /// Every change of an entry ends with this call.
  mutating func publishChanges(of entry: Entry) {
    if entry.copy?.freshness.isNoStore == true, entry.subscribers.isEmpty { setCopy(nil, of: entry) }
    if entry.needsPublishing {
      entry.needsPublishing = false
      memory.publish(entry)
    }
    updatePass(of: entry)
    if entry.hasNews {
      revision += 1
      let offers = entry.publish(revision: revision)
      if !offers.isEmpty { effects.append(.offer(offers)) }
      let actors = entry.dueActors()
      if !actors.isEmpty { effects.append(.call(actors, entry.key)) }
    }
    layer.changes.note(entry.key)
    if presentation != nil { watch(entry) }
    setWakeup(entry)
    let replaced = entry.consumeReplaced()
    if !replaced.isEmpty { effects.append(.release(replaced)) }
    if entry.isPinned || entry.copy != nil || entry.invalidatedBefore != nil {
      memory.updateUse(of: entry)
    } else {
      memory.remove(entry.key)
    }
    for key in memory.trim() { noteEviction(of: key) }
    scheduleSweep()
  }

  /// Starts the task that evicts unused entries, unless it runs already.
  private mutating func scheduleSweep() {
    guard sweeper == nil, configuration.keepUnusedFor < .never, !memory.entries.isEmpty else { return }
    let task = TaskHandle(priority: nil)
    sweeper = task
    effects.append(.sweep(task))
  }

  /// Evicts the entries that are due at `now`.
  ///
  /// - Returns: the wait before the next call; `nil` if no unused entry is left.
  mutating func sweep(at now: Duration) -> Duration? {
    let (gone, next) = memory.sweep(at: now)
    for key in gone { noteEviction(of: key) }
    // Nothing is unused. The next change of an entry starts another sweeper.
    if next == nil { sweeper = nil }
    return next.map { max($0 - now, .milliseconds(1)) }
  }
}

extension EngineState {
  /// Evicts every model that is neither observed nor waited for. An invalidation stays, since the
  /// disk may not have it yet.
  mutating func evictUnused() {
    for entry in memory.unusedEntries where entry.holdsModel {
      noteEviction(of: entry.key)
      setCopy(nil, of: entry)
      publishChanges(of: entry)
    }
  }

  /// Applies a local write: memory, streams and waiters get the value at once.
  ///
  /// - Returns: the ticket to persist the value under. It is drawn under the same lock as the
  ///   change, so that an operation that begins later finds the value in memory.
  mutating func write(
    _ snapshot: Snapshot<AnyModel>, _ key: RecordKey, for resource: Resource, lead: Double
  ) -> Generations.Ticket {
    let ticket = layer.generations.beginWrite(key)
    let entry = entry(of: key, as: resource)
    let copy = CachedModel(snapshot, of: key, origin: .local, lead: lead, generation: ticket.number)
    copy.note(isSaved: false)
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

  /// Marks the copy of `key` stale, if memory has an entry for it.
  mutating func invalidate(_ key: RecordKey, at date: Date) {
    if let entry = memory.entries[key] { invalidate(entry, at: date) }
  }

  /// Marks the copy of `resource` stale. Creates an entry if needed, so that a record loaded from
  /// disk counts as stale too.
  mutating func invalidate(_ key: RecordKey, as resource: Resource, at date: Date) {
    invalidate(entry(of: key, as: resource), at: date)
  }

  /// Marks the copy stale. Streams request it again, and a flight under way restarts.
  private mutating func invalidate(_ entry: Entry, at date: Date) {
    entry.invalidatedBefore = date
    if let copy = entry.copy { setCopy(copy.invalidated(at: date), of: entry) }
    entry.invalidateVariants(at: date)
    append(entry.key, .invalidated)
    restart(entry, because: .change, at: date)
    refresh(entry, at: date)
    publishChanges(of: entry)
  }

  /// Forgets an invalidation that was marked on disk. An entry without a copy and without observers
  /// is then no longer needed.
  mutating func forgetInvalidation(of key: RecordKey) {
    guard let entry = memory.entries[key], entry.copy == nil, !entry.isPinned else { return }
    entry.invalidatedBefore = nil
    publishChanges(of: entry)
  }

  /// Ends the flight of `key`. Its callers are cancelled, and streams keep what they show.
  mutating func cancelFlight(of key: RecordKey) {
    guard let entry = memory.entries[key], entry.flight != nil else { return }
    for continuation in entry.removeContinuations() { effects.append(.resume(continuation, .failure(.cancelled))) }
    append(entry.key, .cancelled)
    // From here on, a polling stream waits for its interval.
    entry.attemptedAt = time
    if entry.copy == nil { entry.error = .cancelled }
    endFlight(of: entry)
    publishChanges(of: entry)
  }

  /// Forgets `key`; with `nil`, every key. Flights end, callers are cancelled, and streams show no
  /// value.
  mutating func forget(_ key: RecordKey?) {
    let forgotten = key.map { [memory.entries[$0]].compactMap(\.self) } ?? memory.entriesInOrder
    for entry in forgotten {
      for continuation in entry.removeContinuations() { effects.append(.resume(continuation, .failure(.cancelled))) }
      if entry.flight != nil { append(entry.key, .cancelled) }
      endFlight(of: entry)
      setCopy(nil, of: entry)
      // `removeAll` removed the changes over it, too. The removal of one resource keeps them.
      if key == nil { entry.redraw { $0.dropRemoved(over: nil) } }
      entry.error = nil
      entry.invalidatedBefore = nil
      entry.isForgotten = true
      append(entry.key, .removed)
      publishChanges(of: entry)
    }
  }

  /// Marks copies stale that are older than another reactor's record of `variant`.
  ///
  /// Streams load that record if it is of their model type. They do not send a request: after a
  /// local write, its response would replace the written value.
  ///
  /// - Parameter isStored: `false` if the value is only in the other reactor's memory. The record
  ///   on disk is then older.
  mutating func outdate(
    _ key: RecordKey, by number: Generation, _ variant: Record.Variant?, isStored: Bool, isWritten: Bool, at now: Date
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

/// Work that a change requests. The shell performs it after it unlocks.
enum Effect: Sendable {
  case resume(CheckedContinuation<KeyState.Outcome, Never>, KeyState.Outcome)
  /// Offers states to the streams that a change concerns, in their order.
  case offer([StateOffer<StateSlot>])
  /// Calls the observers of a key that are isolated to these actors.
  case call([(any Actor)?], RecordKey)
  /// Ends a stream.
  case end(StateReader)
  case start(FlightStep)
  /// Adds a task's wait to the owner of a flight that was already under way.
  case add(LockOwner.Wait, to: LockOwner)
  case cancel([TaskHandle])
  case escalate([TaskHandle], TaskPriority)
  case sweep(TaskHandle)
  case watchReachability(TaskHandle)
  case watchPower(TaskHandle)
  /// The first stream was opened, or the last one ended.
  case observe
  /// A response of an observed key is out of date by a change of the server.
  case tellOutdated(RecordKey)
  case wakeUp(TaskHandle, RecordKey, at: Duration)
  /// Shows what is newer in these keys.
  case renew(Set<RecordKey>, except: RecordKey)
  /// Values that the state holds no longer. They are released without the lock, since a user's
  /// `deinit` may call the reactor.
  case release([any Sendable])
}
