import Foundation

/// The state of one key in a reactor: its copy, its flight, its waiters and its streams. Guarded by
/// the reactor's lock.
final class KeyState: MemoryEntry {
  typealias Outcome = Result<ShownModel, ReactorError>
  typealias Continuation = CheckedContinuation<Outcome, Never>

  let key: RecordKey
  var use = MemoryUse()
  // Adjacent to each other: apart, each of them takes eight bytes.
  /// A Boolean value that indicates whether ``copy`` has yet to be published to readers.
  var needsPublishing = false
  /// A Boolean value that indicates whether ``wakeup`` must be computed again.
  var wakeupIsOutdated = false
  /// A Boolean value that indicates whether the key was removed, and neither requested nor saved
  /// since.
  var isForgotten = false
  /// A Boolean value that indicates whether the latest request was not sent because of an outage.
  var wasRefused = false
  /// Set if a flight was under way when ``wakeup`` was computed last.
  var hadFlight = false
  private var hasChanged = false
  private var publishedStatus = FetchStatus.idle
  private var hasNewValue = false

  /// The base: what the server said, or a local write. It contains no change that is only shown.
  private(set) var copy: CachedModel?
  /// The changes that are shown over ``copy``; `nil` without changes.
  private(set) var changes: (any KeyPresentation)?
  /// The interest of the streams in what a presentation shows; `nil` for most keys.
  var watch: (any AnyObject & Sendable)?
  /// A newer record that the layer has stored; `nil` if ``copy`` is up to date.
  private var outdated: NewerRecord?
  /// The strong entity tag that ``copy`` has replaced. A replica may send that version again.
  var replacedTag: String?
  /// The error of the latest attempt.
  var error: ReactorError? {
    didSet {
      if oldValue != nil || error != nil { hasChanged = true }
      if let oldValue { replaced.append(oldValue) }
    }
  }
  /// Replaced errors and copies, to be released without the lock: they may hold user objects.
  private var replaced: [any Sendable] = []
  var flight: Flight? { didSet { if oldValue?.progress != flight?.progress { hasChanged = true } } }
  private(set) var continuations: [FlightMachine.WaiterID: Continuation] = [:]
  private(set) var subscribers = Subscribers()
  /// The date of an invalidation. Copies requested until then are stale, marked on disk or not.
  var invalidatedBefore: Date?
  /// The next automatic request.
  var wakeup: Wakeup?
  var pollers = 0
  /// The clock's time of the latest attempt to reach the network, whatever its outcome.
  var attemptedAt: Duration?
  /// The clock's time until which the server allows no poll.
  var pollableAt: Duration?
  /// The revision of the latest published change.
  private(set) var revision: UInt64
  /// The streams that would see a change that the other streams do not see.
  private var changed: Set<FlightMachine.WaiterID> = []
  /// The revision of the copy's model.
  private var valueRevision: UInt64 = 0

  /// - Parameter revision: the latest revision of the reactor.
  init(key: RecordKey, revision: UInt64) {
    self.key = key
    self.revision = revision
  }

  /// The values that may hold user objects.
  var belongings: [any Sendable] {
    [
      copy as any Sendable, changes?.belongings as any Sendable, error as any Sendable, flight?.machine as any Sendable,
      flight?.variants as any Sendable,
    ]
  }

  /// Records that the shown value has changed, or only the changes over it.
  func noteChanges(isNewValue: Bool) {
    hasChanged = true
    if isNewValue { hasNewValue = true }
  }

  fileprivate func replace(_ old: [any Sendable]) { replaced += old }

  func consumeReplaced() -> [any Sendable] {
    defer { replaced = [] }
    return replaced
  }

  var holdsModel: Bool { copy != nil }
  var cost: Int { copy?.cost ?? 0 }
  var isPinned: Bool { !subscribers.isEmpty || flight != nil }

  /// Marks ``copy`` as up to date: it has just arrived, so no stored record is newer.
  func clearOutdated() { outdated = nil }

  /// A class, since few entries need one.
  private final class NewerRecord {
    let variant: Record.Variant?
    init(variant: Record.Variant?) { self.variant = variant }
  }

  var isOutdated: Bool { outdated != nil }

  /// Records that the layer has stored a newer record of `variant` than ``copy``.
  func outdate(by variant: Record.Variant?) { outdated = NewerRecord(variant: variant) }

  /// Returns `true` if `stored` is of the variant that was stored since ``copy`` arrived: newer.
  func isOutdated(by stored: CachedModel) -> Bool {
    outdated.map { !stored.isAnotherVariant(than: $0.variant) } ?? false
  }

  func addSubscriber(_ subscriber: Subscriber) { subscribers.insert(subscriber) }
  func removeSubscriber(_ id: FlightMachine.WaiterID) -> Subscriber? { subscribers.remove(id) }

  func addContinuation(_ continuation: Continuation, for id: FlightMachine.WaiterID) {
    continuations[id] = continuation
  }

  func removeContinuation(_ id: FlightMachine.WaiterID) -> Continuation? {
    // An emptied dictionary keeps its storage.
    defer { if continuations.isEmpty { continuations = [:] } }
    return continuations.removeValue(forKey: id)
  }

  /// Removes all continuations and returns them in the order of their numbers.
  func removeContinuations() -> [Continuation] {
    defer { continuations = [:] }
    return continuations.sorted { $0.key < $1.key }.map(\.value)
  }

  var fetchStatus: FetchStatus {
    guard let flight else { return .idle }
    return flight.machine.isPaused ? .paused : .fetching
  }

  /// Records progress of the flight's transfer.
  func advance(to progress: TransferProgress) {
    flight?.progress = progress
    hasChanged = true
  }

  /// Replaces the copy. A stream that needs another variant keeps its previous copy.
  ///
  /// - Parameter isNewValue: `true` if the new copy holds another model.
  /// - Returns: the change in the numbers of models and bytes, for the memory's totals.
  func setCopy(_ new: CachedModel?, isNewValue: Bool) -> (models: Int, bytes: Int) {
    defer {
      copy = new
      if changes != nil { redraw { $0.rebase(on: new, isNewValue: isNewValue) } }
    }
    if copy != nil || new != nil { hasChanged = true }
    if new != nil { isForgotten = false }
    wakeupIsOutdated = true
    if isNewValue { hasNewValue = true }
    if let copy, let new, let flight, copy.isAnotherVariant(than: new.head?.variant), let earlier = flight.store(copy) {
      replaced.append(earlier)
    }
    for subscriber in subscribers.all {
      let keepsOwn = subscriber.showsValue && new?.isAnotherVariant(for: subscriber.resource) == true
      subscriber.ownVariant = keepsOwn ? self.copy(for: subscriber) : nil
      subscriber.sawItArrive = true
    }
    return ((new == nil ? 0 : 1) - (copy == nil ? 0 : 1), (new?.cost ?? 0) - (copy?.cost ?? 0))
  }

  /// Marks stale the variants that streams and the flight hold beside the key's copy, if `isMeant`
  /// returns `true` for them.
  func invalidateVariants(at date: Date, where isMeant: (CachedModel) -> Bool = { _ in true }) {
    replaced += flight?.invalidateVariants(at: date, where: isMeant) ?? []
    for subscriber in subscribers.all {
      guard let own = subscriber.ownVariant, isMeant(own) else { continue }
      replaced.append(own)
      subscriber.ownVariant = own.invalidated(at: date)
      hasChanged = true
      wakeupIsOutdated = true
    }
  }

  /// A Boolean value that indicates whether streams would see another state than the last one
  /// published.
  var hasNews: Bool { hasChanged || publishedStatus != fetchStatus || !changed.isEmpty }

  /// Publishes the current state as a new revision.
  ///
  /// - Returns: the states for the streams that the change concerns, in the order of their numbers.
  ///   Observers take theirs later.
  func publish(revision: UInt64) -> [StateOffer<StateSlot>] {
    defer { changed = [] }
    let concerned: [Subscriber]
    if hasChanged || publishedStatus != fetchStatus {
      self.revision = revision
      hasChanged = false
      publishedStatus = fetchStatus
      if hasNewValue { valueRevision = ValueRevision.next() }
      hasNewValue = false
      concerned = subscribers.all
    } else {
      concerned = changed.sorted().compactMap { subscribers[$0] }
      for subscriber in concerned { subscriber.revision = revision }
    }
    return offers(to: concerned) { subscriber in
      if case .stream(let slot) = subscriber.reader { slot } else { nil }
    }
  }

  /// Marks the observers as due, and returns the actors of all, since some may not know it yet.
  func dueActors() -> [(any Actor)?] {
    var due: [(any Actor)?] = []
    var latest: ObjectIdentifier??
    for subscriber in subscribers.all where subscriber.isObserver {
      subscriber.isDue = true
      guard subscriber.actor != latest, case .observer(let observer) = subscriber.reader else { continue }
      latest = subscriber.actor
      if !due.contains(where: { $0 === observer.isolation }) { due.append(observer.isolation) }
    }
    return due
  }

  /// Returns the states for the observers of `actor` that have not received the latest, in the
  /// order of their numbers. They then count as delivered.
  func takeOffers(for actor: ObjectIdentifier?) -> [StateOffer<any StateObserving>] {
    offers(to: subscribers.all) { subscriber in
      guard subscriber.isDue, subscriber.actor == actor, case .observer(let observer) = subscriber.reader else {
        return nil
      }
      subscriber.isDue = false
      let revision = revision(for: subscriber)
      if subscriber.delivered == revision { return nil }
      subscriber.delivered = revision
      return observer
    }
  }

  /// Returns the current state for each subscriber that has a reader, in order.
  private func offers<Reader>(
    to subscribers: [Subscriber], _ reader: (Subscriber) -> Reader?
  ) -> [StateOffer<Reader>] {
    var offers: [StateOffer<Reader>] = []
    var readers: [Reader] = []
    var first: Subscriber?
    for subscriber in subscribers {
      guard let reader = reader(subscriber) else { continue }
      if let first, !subscriber.seesSame(as: first) {
        offers.append(StateOffer(snapshot: snapshot(for: first), readers: readers))
        readers = []
      }
      if readers.isEmpty { first = subscriber }
      readers.append(reader)
    }
    if let first { offers.append(StateOffer(snapshot: snapshot(for: first), readers: readers)) }
    return offers
  }

  func revision(for subscriber: Subscriber) -> UInt64 { max(revision, subscriber.revision) }

  /// Shows a value that has just arrived to every stream, whatever its policy.
  func showToAll() {
    for subscriber in subscribers.all { show(to: subscriber) }
  }

  /// Shows the key's copy to the stream or, if that is another variant, `own`.
  func show(_ own: CachedModel? = nil, to id: FlightMachine.WaiterID) {
    guard let subscriber = subscribers[id] else { return }
    if let own, own !== copy, own !== subscriber.ownVariant {
      if let old = subscriber.ownVariant { replaced.append(old) }
      subscriber.ownVariant = own
      subscriber.sawItArrive = true
      changed.insert(id)
    }
    show(to: subscriber)
  }

  private func show(to subscriber: Subscriber) {
    guard !subscriber.showsValue || subscriber.isNotCached else { return }
    subscriber.showsValue = true
    subscriber.isNotCached = false
    changed.insert(subscriber.id)
  }

  /// Marks a `cacheOnly` stream as not cached. Other streams ignore this: one may have been a
  /// waiter only to load a newer record.
  func denyCached(to id: FlightMachine.WaiterID) {
    guard let subscriber = subscribers[id], subscriber.policy == .cacheOnly else { return }
    subscriber.isNotCached = true
    changed.insert(id)
  }

  func snapshot(for subscriber: Subscriber) -> KeySnapshot {
    let copy = subscriber.showsValue ? copy(for: subscriber) : nil
    let presented = subscriber.showsValue ? presented(over: copy) : nil
    let wasThere = copy != nil && !subscriber.sawItArrive && copy?.origin != .local
    return KeySnapshot(
      key, subscriber.resource, copy: copy, presented: presented,
      pending: presented == nil ? [] : changes?.pendingIDs ?? [],
      error: error ?? (subscriber.isNotCached && self.copy == nil ? .notCached : nil),
      fetchStatus: fetchStatus, progress: flight?.progress, origin: wasThere ? .memory : copy?.origin,
      revision: revision(for: subscriber), valueRevision: valueRevision,
      isRemoved: isForgotten && flight == nil)
  }

  /// The key's copy, and the copies that are kept beside it.
  var copies: [CachedModel] {
    [copy].compactMap(\.self) + (flight?.variants ?? []) + subscribers.all.compactMap(\.ownVariant)
  }

  /// Returns the key's copy or, if that is another variant, a displaced copy that answers
  /// `resource`.
  func copy(answering resource: Resource) -> CachedModel? {
    if let copy, !copy.isAnotherVariant(for: resource) { return copy }
    return flight?.variants.last { !$0.isAnotherVariant(for: resource) }
  }

  /// Stores `copy` beside the newer copy of the key, for the flight's waiters and the streams that
  /// it answers.
  func storeAside(_ copy: CachedModel) {
    guard let flight, !flight.variants.contains(where: { $0 === copy }) else { return }
    if let earlier = flight.store(copy) { replaced.append(earlier) }
  }

  /// Returns the key's or the flight's copy that answers `resource`, or else the newest copy that a
  /// stream holds.
  func held(answering resource: Resource) -> CachedModel? {
    if let copy = copy(answering: resource) { return copy }
    return subscribers.all.compactMap(\.ownVariant).filter { !$0.isAnotherVariant(for: resource) }
      .max { $0.askedAt < $1.askedAt }
  }

  /// Returns the key's copy or, if that is another variant, the stream's own.
  func copy(for subscriber: Subscriber) -> CachedModel? {
    copy?.isAnotherVariant(for: subscriber.resource) == true ? subscriber.ownVariant : copy
  }
}

extension KeyState {
  /// The copy that readers find without the lock. A change is a user's function, so a reader takes
  /// the lock to get it, and computes without the lock.
  var readable: CachedModel? { changes == nil ? copy : nil }

  /// Returns what is shown in place of `copy`; `nil` for the copy itself. A removed key shows
  /// nothing.
  func presented(over copy: CachedModel?) -> (any PresentedValue)? {
    guard !isForgotten else { return nil }
    guard let changes else { return copy?.presented?.shown }
    return copy === self.copy ? changes.shown : changes.drawn(over: copy)
  }

  func shown(_ copy: CachedModel) -> ShownModel {
    ShownModel(copy: copy, presented: presented(over: copy), revision: hasNews ? revision + 1 : revision)
  }

  /// Returns the copy without pending changes; `nil` if there can be no others.
  func confirmed(by presentation: (any ModelPresentation)?) -> (any PresentedValue)? {
    guard !isForgotten else { return nil }
    if let changes { return changes.confirmed(over: copy) }
    return presentation?.confirmed(copy)
  }

  /// Sets the first changes over the copy.
  func begin(with changes: (any KeyPresentation)?) {
    guard let changes else { return }
    self.changes = changes
    noteChanges(isNewValue: true)
  }

  /// Applies a change. The previous value is released without the lock.
  ///
  /// - Parameter change: returns `true` if the shown value may have changed.
  func redraw(_ change: (any KeyPresentation) -> Bool) {
    guard let changes else { return }
    let old = changes.shown
    let isNewValue = change(changes)
    if changes.isEmpty { self.changes = nil }
    replace([old as any Sendable] + changes.consumeDropped())
    noteChanges(isNewValue: isNewValue)
  }
}

/// A copy with the changes over it, for a caller. The shell computes the model without the lock.
struct ShownModel: Sendable {
  let copy: CachedModel
  var presented: (any PresentedValue)?
  /// The smallest revision of the states that show this copy or a newer one. A caller gets the copy
  /// before the change that brought it is published.
  var revision: UInt64 = 0

  /// A Boolean value that indicates whether the program has removed the model since it arrived.
  var isRemoved: Bool { copy.presented.map { $0.shown.model == nil } ?? false }

  /// The copy with the model that is shown in its place.
  ///
  /// - Throws: ``ReactorError/notCached`` if a change has removed the value.
  func resolved() throws(ReactorError) -> CachedModel {
    guard let presented else { return copy }
    guard let model = presented.model else { throw .notCached }
    return copy.showing(model)
  }
}
