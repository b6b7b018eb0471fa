import Foundation

/// All that a reactor knows of one key: its copy, its flight, who waits and who watches. Guarded by the reactor's lock.
final class KeyState: MemoryEntry {
  typealias Outcome = Result<CachedModel, ReactorError>
  typealias Continuation = CheckedContinuation<Outcome, Never>

  let key: RecordKey
  var use = MemoryUse()
  // Beside each other: apart, each of them takes eight bytes.
  /// A Boolean value that indicates whether readers are still to be told of ``copy``.
  var needsPublishing = false
  /// A Boolean value that indicates whether ``wakeup`` is to be looked at, because what it was set
  /// by has changed.
  var wakeupIsOutdated = false
  /// A Boolean value that indicates whether it was removed, and nobody has brought it back.
  var isForgotten = false
  /// A Boolean value that indicates whether a flight was under way when ``wakeup`` was looked at
  /// last.
  var hadFlight = false
  private var hasChanged = false
  private var publishedStatus = FetchStatus.idle
  private var hasNewValue = false

  private(set) var copy: CachedModel?
  /// The layer has stored a newer record than ``copy``, of this variant.
  private var outdated: NewerRecord?
  /// Of the latest attempt.
  var error: ReactorError? {
    didSet {
      if oldValue != nil || error != nil { hasChanged = true }
      if let oldValue { replaced.append(oldValue) }
    }
  }
  /// Errors and copies to be released after the lock: they may hold their user's objects.
  private var replaced: [any Sendable] = []
  var flight: Flight? { didSet { if oldValue?.progress != flight?.progress { hasChanged = true } } }
  private(set) var continuations: [FlightMachine.WaiterID: Continuation] = [:]
  private(set) var subscribers: [FlightMachine.WaiterID: Subscriber] = [:]
  /// What was asked for until then is stale, also if persistence does not know.
  var invalidatedBefore: Date?
  /// When it is asked for again by itself.
  var wakeup: Wakeup?
  var pollers = 0
  /// The clock's time at which the network was asked for it last: answered, failed, or could not be reached.
  var attemptedAt: Duration?
  /// Of the latest change that was published.
  private(set) var revision: UInt64
  /// The streams that would see something else, where the others would not.
  private var changed: Set<FlightMachine.WaiterID> = []
  /// Of the copy's model.
  private var valueRevision: UInt64 = 0

  /// - Parameter revision: the reactor's latest.
  init(key: RecordKey, revision: UInt64) {
    self.key = key
    self.revision = revision
  }

  /// What may hold objects of its user.
  var belongings: [any Sendable] {
    [copy as any Sendable, error as any Sendable, flight?.machine as any Sendable, flight?.variants as any Sendable]
  }

  func consumeReplaced() -> [any Sendable] {
    defer { replaced = [] }
    return replaced
  }

  var holdsModel: Bool { copy != nil }
  var cost: Int { copy?.cost ?? 0 }
  var isPinned: Bool { !subscribers.isEmpty || flight != nil }

  /// ``copy`` has just come, so nothing that was stored before is newer.
  func clearOutdated() { outdated = nil }

  /// By reference, since few entries have one.
  private final class NewerRecord {
    let variant: Variant?

    init(variant: Variant?) { self.variant = variant }
  }

  var isOutdated: Bool { outdated != nil }

  /// The layer has stored a newer record than ``copy``, of `variant`.
  func outdate(by variant: Variant?) { outdated = NewerRecord(variant: variant) }

  /// Returns `true` where `stored` is of the variant that the layer has stored since ``copy`` came: it is newer, whatever the
  /// times say.
  func isOutdated(by stored: CachedModel) -> Bool {
    outdated.map { !stored.isAnotherVariant(than: $0.variant) } ?? false
  }

  func addSubscriber(_ subscriber: Subscriber, for id: FlightMachine.WaiterID) { subscribers[id] = subscriber }

  func removeSubscriber(_ id: FlightMachine.WaiterID) -> Subscriber? {
    // One that was emptied keeps its memory, and most keys have nobody who watches or waits most of the time.
    defer { if subscribers.isEmpty { subscribers = [:] } }
    return subscribers.removeValue(forKey: id)
  }

  func addContinuation(_ continuation: Continuation, for id: FlightMachine.WaiterID) {
    continuations[id] = continuation
  }

  func removeContinuation(_ id: FlightMachine.WaiterID) -> Continuation? {
    defer { if continuations.isEmpty { continuations = [:] } }
    return continuations.removeValue(forKey: id)
  }

  /// In the order of their numbers.
  func removeContinuations() -> [Continuation] {
    defer { continuations = [:] }
    return continuations.sorted { $0.key < $1.key }.map(\.value)
  }

  var fetchStatus: FetchStatus {
    guard let flight else { return .idle }
    return flight.machine.isPaused ? .paused : .fetching
  }

  /// The transfer has got further.
  func advance(to progress: TransferProgress) {
    flight?.progress = progress
    hasChanged = true
  }

  /// Replaces the copy; gives by how much the memory's count changes. A stream for which it is another variant keeps its own.
  ///
  /// - Parameter isNewValue: whether it holds another model than the last.
  func setCopy(_ new: CachedModel?, isNewValue: Bool) -> (models: Int, bytes: Int) {
    defer { copy = new }
    if copy != nil || new != nil { hasChanged = true }
    if new != nil { isForgotten = false }
    wakeupIsOutdated = true
    if isNewValue { hasNewValue = true }
    if let copy, let new, let flight, copy.isAnotherVariant(than: new.head?.variant), let earlier = flight.store(copy) {
      replaced.append(earlier)
    }
    for subscriber in subscribers.values {
      let keepsOwn = subscriber.showsValue && new?.isAnotherVariant(for: subscriber.resource) == true
      subscriber.ownVariant = keepsOwn ? self.copy(for: subscriber) : nil
      subscriber.sawItArrive = true
    }
    return ((new == nil ? 0 : 1) - (copy == nil ? 0 : 1), (new?.cost ?? 0) - (copy?.cost ?? 0))
  }

  /// Declares stale what streams and the flight hold beside the key's copy: those variants that `isMeant` names.
  func invalidateVariants(at date: Date, where isMeant: (CachedModel) -> Bool = { _ in true }) {
    replaced += flight?.invalidateVariants(at: date, where: isMeant) ?? []
    for subscriber in subscribers.values {
      guard let own = subscriber.ownVariant, isMeant(own) else { continue }
      replaced.append(own)
      subscriber.ownVariant = own.invalidated(at: date)
      hasChanged = true
      wakeupIsOutdated = true
    }
  }

  /// A Boolean value that indicates whether streams would see another state than the one that was
  /// published last.
  var hasNews: Bool { hasChanged || publishedStatus != fetchStatus || !changed.isEmpty }

  typealias Delivery = (CheckedContinuation<KeySnapshot?, Never>, KeySnapshot)

  /// Makes a new revision of what is known now, and gives the streams that it concerns and that were waiting for one, in the
  /// order of their numbers.
  func publish(revision: UInt64) -> [Delivery] {
    defer { changed = [] }
    guard hasChanged || publishedStatus != fetchStatus else {
      for id in changed { subscribers[id]?.revision = revision }
      return deliver(to: changed)
    }
    self.revision = revision
    hasChanged = false
    publishedStatus = fetchStatus
    if hasNewValue { valueRevision = ValueRevision.next() }
    hasNewValue = false
    return deliver(to: subscribers.keys)
  }

  private func deliver(to ids: some Collection<FlightMachine.WaiterID>) -> [Delivery] {
    var due: [Delivery] = []
    for id in ids.filter({ subscribers[$0]?.continuation != nil }).sorted() {
      guard let subscriber = subscribers[id], let continuation = subscriber.continuation,
        let snapshot = undelivered(to: subscriber)
      else { continue }
      subscriber.continuation = nil
      due.append((continuation, snapshot))
    }
    return due
  }

  /// The revision that a subscriber has not been given yet, and is given now; `nil` if it has the latest.
  func undelivered(to subscriber: Subscriber) -> KeySnapshot? {
    subscriber.delivered == revision(for: subscriber) ? nil : snapshotAsDelivered(to: subscriber)
  }

  private func revision(for subscriber: Subscriber) -> UInt64 { max(revision, subscriber.revision) }

  /// The state that a subscriber may know now, which counts as delivered.
  func snapshotAsDelivered(to subscriber: Subscriber) -> KeySnapshot {
    subscriber.delivered = revision(for: subscriber)
    return snapshot(for: subscriber)
  }

  /// A value that arrives is shown under every policy.
  func showToAll() {
    for id in subscribers.keys { show(to: id) }
  }

  /// From now on the stream shows what the key has or, where that is another variant, `own`.
  func show(_ own: CachedModel? = nil, to id: FlightMachine.WaiterID) {
    guard let subscriber = subscribers[id] else { return }
    if let own, own !== copy, own !== subscriber.ownVariant {
      if let old = subscriber.ownVariant { replaced.append(old) }
      subscriber.ownVariant = own
      subscriber.sawItArrive = true
      changed.insert(id)
    }
    guard !subscriber.showsValue || subscriber.isNotCached else { return }
    subscriber.showsValue = true
    subscriber.isNotCached = false
    changed.insert(id)
  }

  /// The stream is told that nothing is cached, if that is all it asks for: another one may have been a waiter that only
  /// reads a newer record.
  func denyCached(to id: FlightMachine.WaiterID) {
    guard let subscriber = subscribers[id], subscriber.policy == .cacheOnly else { return }
    subscriber.isNotCached = true
    changed.insert(id)
  }

  func snapshot(for subscriber: Subscriber) -> KeySnapshot {
    let copy = subscriber.showsValue ? copy(for: subscriber) : nil
    let wasThere = copy != nil && !subscriber.sawItArrive && copy?.origin != .local
    return KeySnapshot(
      copy: copy, error: error ?? (subscriber.isNotCached && self.copy == nil ? .notCached : nil),
      fetchStatus: fetchStatus, progress: flight?.progress, origin: wasThere ? .memory : copy?.origin,
      revision: revision(for: subscriber), valueRevision: valueRevision,
      isRemoved: isForgotten && flight == nil)
  }

  /// The key's copy or, where that is another variant, one of `resource` that its flight has displaced.
  func copy(answering resource: Resource) -> CachedModel? {
    if let copy, !copy.isAnotherVariant(for: resource) { return copy }
    return flight?.variants.last { !$0.isAnotherVariant(for: resource) }
  }

  /// Keeps `copy` for the waiters of the flight and for the streams that it answers, beside the key's copy, which is newer.
  func storeAside(_ copy: CachedModel) {
    guard let flight, !flight.variants.contains(where: { $0 === copy }) else { return }
    if let earlier = flight.store(copy) { replaced.append(earlier) }
  }

  /// The newest copy that is held for `resource`, by a stream too.
  func held(answering resource: Resource) -> CachedModel? {
    if let copy = copy(answering: resource) { return copy }
    return subscribers.values.compactMap(\.ownVariant).filter { !$0.isAnotherVariant(for: resource) }
      .max { $0.askedAt < $1.askedAt }
  }

  /// The key's copy or, where that is another variant, the stream's own.
  func copy(for subscriber: Subscriber) -> CachedModel? {
    copy?.isAnotherVariant(for: subscriber.resource) == true ? subscriber.ownVariant : copy
  }
}

/// The flight that a key has now, and what runs for it. Guarded by the reactor's lock; most keys have none.
final class Flight {
  var machine: FlightMachine
  /// What it was begun under.
  let ticket: Generations.Ticket
  /// What its tasks work for.
  let owner: LockOwner
  /// What runs for it.
  var tasks: [TaskHandle] = []
  var priority: TaskPriority?
  var progress: TransferProgress?
  /// A Boolean value that indicates whether another reactor has stored a newer record since it
  /// began.
  var wasStoredMeanwhile = false
  /// A Boolean value that indicates whether another reactor has written locally since it began. Its
  /// answer is still good for its waiters, but not for one that asks later.
  var isBeforeWrite = false
  /// Copies that another variant has displaced since it began (RFC 9111 §4.1): its waiters may still be content with them.
  private(set) var variants: [CachedModel] = []

  init(_ machine: FlightMachine, under ticket: Generations.Ticket, priority: TaskPriority?) {
    self.machine = machine
    owner = LockOwner(machine.waiters.waits)
    self.ticket = ticket
    self.priority = priority
  }

  /// Keeps a copy that another variant displaces, in place of an earlier one of the same variant.
  ///
  /// - Returns: the earlier one, to be released after the lock.
  func store(_ displaced: CachedModel) -> CachedModel? {
    let index = variants.firstIndex { $0.head?.variant == displaced.head?.variant }
    variants.append(displaced)
    return index.map { variants.remove(at: $0) }
  }

  /// Declares stale those of the displaced copies that `isMeant` names.
  ///
  /// - Returns: the copies that were replaced, to be released after the lock.
  func invalidateVariants(at date: Date, where isMeant: (CachedModel) -> Bool) -> [CachedModel] {
    let replaced = variants.filter(isMeant)
    variants = variants.map { isMeant($0) ? $0.invalidated(at: date) : $0 }
    return replaced
  }
}

/// When a key is asked for again without anybody's doing, and the task that sleeps until then.
final class Wakeup {
  let task: TaskHandle
  /// On the reactor's clock, since it was made.
  let at: Duration

  init(task: TaskHandle, at: Duration) {
    self.task = task
    self.at = at
  }
}
