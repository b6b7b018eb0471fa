import Foundation
import ReactorCore
import ReactorWrites

/// The state of an outbox that its lock guards.
struct OutboxState: Sendable {
  /// The parts of an entry that are not saved.
  struct Item: Sendable {
    var mutation: MutationBox
    var drafts: [Draft] = []
    var result: SubmissionResult?
    /// The number of removals that were requested before it was submitted.
    var epoch = 0
    /// The resources that the latest request was made from.
    var asked: Asked?
    /// A Boolean value that indicates whether they are fetched again before the next request.
    var needsRefresh = false
    /// The task that sends the request, until the attempt is over; `nil` while no byte of it may
    /// have left.
    var sending: TaskHandle?
    /// The progress of its form; `nil` while none is sent.
    var progress: TransferProgress?
    /// The request that the mutation is building; `nil` if it is not building one.
    var making: Making?
    var isWithdrawn = false
    /// The number of sign-ins before the latest attempt was sent.
    var signIns = 0
    var conflict: Outbox.Entry.Conflict?
    /// The error of the refusal, in this process.
    var error: ReactorError?

    /// The keys whose requests wait while the entry is sent.
    var keys: Set<RecordKey> { Set(drafts.keys) }
  }

  /// A request that a mutation is building.
  struct Making: Sendable {
    struct Made: Sendable {
      var request: FrozenRequest
      /// The app's own idempotency key.
      var key: String?
      var asked: Asked
    }

    enum End: Sendable {
      case made(Made)
      case failed(ReactorError)
      /// The last waiter was cancelled.
      case interrupted
    }

    let task = TaskHandle(priority: nil)
    let end = OneShot<End>()

    /// Stops waiting for the app's code, whether or not it responds to cancellation.
    func interrupt() {
      end.settle(.interrupted)
      task.cancel()
    }
  }

  /// An entry that this program cannot read.
  struct Unreadable: Sendable {
    var stored: StoredEntry
    /// The entry, if only its mutation cannot be read.
    var entry: OutboxEntry?
    var reason: String
    /// The reason without any part of the mutation, for an inspector; `nil` if ``reason`` has none.
    var summary: String?
  }

  /// An entry that is being saved for the first time.
  struct Submitted: Sendable {
    var entry: OutboxEntry
    var item: Item
    /// A Boolean value that indicates whether its drafts are shown, and may be replaced.
    var isShown = false
  }

  enum Reading: Sendable {
    case unread, reading, read
    /// The store has failed. It is read again before anything is sent.
    case failed(ReactorError)
  }

  var queue = OutboxQueue()
  var items: [UUID: Item] = [:]
  var unreadable: [UUID: Unreadable] = [:]
  /// The entries that are being saved for the first time. A read of the store may already return
  /// them.
  var submitting: [UUID: Submitted] = [:]
  /// The forms that are being copied for entries to submit.
  var copies = FormCopies()
  /// The entries that other processes have finished while they were being withdrawn here.
  var lostWithdrawals: Set<UUID> = []
  /// The parts of the store that were set aside, as of the last read.
  var setAside: [String] = []
  /// The accepted entries that are kept for their drafts, the oldest first.
  var accepted: [UUID] = []
  private var given = KnownIDs()
  var reading: Reading
  var readyWaiters: [CheckedContinuation<Void, Never>] = []
  /// The turns of the lanes with entries, for the steps that await one of them.
  private var laneTurns: [String: LaneTurn] = [:]
  /// The original names of lanes that a temporary id named, by their current names.
  private var renamedLanes: [String: String] = [:]
  /// The lanes that send, and the lanes that wait for their turn.
  private(set) var lanes = RunningLanes()
  /// The entries whose turn comes in the lanes that send, as the layer knows them.
  var turns: LaneTurns
  /// The next wake-up, at this time of the configuration's clock. Times of that clock are compared,
  /// and no dates: the wall clock may be set meanwhile.
  var timer: (time: Duration, task: TaskHandle)?
  var watcher: TaskHandle?
  /// The number of removals of everything. Work that started under an earlier count is dropped.
  var epoch = 0
  /// The entries that were removed here while the store is read.
  var removed = RecentRemovals()
  /// The number of reads of the store whose changes are being taken over. Nothing is sent
  /// meanwhile.
  var takeovers = 0
  /// The identity of the store, as of the last read; `nil` if it has none.
  private(set) var identity: UUID?
  /// The numbers of the entries that are known here.
  private var numbers = StoreNumbers()
  /// The number of removals of everything in progress. Nothing is sent meanwhile, and reads of the
  /// store prove nothing about its entries.
  var removals = 0
  /// The number of removals of everything that were asked for. It never falls.
  var removalsBegun = 0
  var isStopped: Bool { queue.isStopped }
  /// The entries whose outcome is published but not saved yet, since the store fails.
  var unsaved: Set<UUID> = []
  /// The number of sign-ins. A 401 to a request from before the latest one does not count.
  var signIns = 0
  /// A Boolean value that indicates whether lanes send without a drain.
  let sendsByItself: Bool
  /// The drains in progress, each with the entry that it waits for; `nil` if it sends every lane.
  var drains: [UUID: UUID?] = [:]
  /// The number of changes, by which a reader of the entries knows whether it has the latest.
  private(set) var version: UInt64 = 0
  private var waiters: [OneShot<Void>] = []

  init(isRead: Bool, sendsByItself: Bool = true, turns: LaneTurns = LaneTurns(nil)) {
    reading = isRead ? .read : .unread
    self.sendsByItself = sendsByItself
    self.turns = turns
  }

  /// Records the number that the store has given to an entry of this process.
  mutating func noteSaved(_ number: UInt64) { numbers.noteSaved(number) }

  /// The mark of a reading that begins, for ``noteRead(_:since:)``.
  var savedBefore: UInt64 { numbers.saved }

  /// Records the contents of the store.
  ///
  /// - Parameter mark: ``savedBefore`` when the reading began.
  mutating func noteRead(_ contents: OutboxContents, since mark: UInt64) {
    identity = contents.identity ?? identity
    numbers.noteRead(upTo: contents.lastNumber, since: mark)
  }

  /// Returns a Boolean value that indicates whether other processes may have added entries before
  /// an entry of this process.
  func mayFollowOthers(_ id: UUID) -> Bool { queue.entries[id].map { $0.number > numbers.complete } ?? false }

  /// Returns the range of numbers in which other processes may have added entries before an entry
  /// of this process; `nil` if that is impossible.
  func gap(before id: UUID) -> (after: UInt64, before: UInt64)? {
    guard mayFollowOthers(id), let number = queue.entries[id]?.number else { return nil }
    return (numbers.complete, number)
  }

  /// Records that the store has no entries in such a gap.
  mutating func noteEmpty(_ gap: (after: UInt64, before: UInt64)) { numbers.noteGap(from: gap.after, to: gap.before) }

  /// Returns a Boolean value that indicates whether the store was replaced since it was last read.
  func isOther(_ identity: UUID?) -> Bool {
    guard let identity, let known = self.identity else { return false }
    return identity != known
  }

  /// Continues with a store that has replaced the earlier one.
  mutating func goOn(with contents: OutboxContents) {
    identity = contents.identity
    numbers = StoreNumbers(complete: contents.lastNumber)
  }

  /// Records that the numbers of the store may begin again.
  mutating func forgetNumbers() { numbers = StoreNumbers() }

  /// Sets the number of an entry that was saved again, so that it is sent soon.
  mutating func renumber(_ id: UUID, _ number: UInt64) {
    unreadable[id]?.stored.number = number
    guard var entry = queue.entries[id] else { return }
    entry.number = number
    update(entry)
    queue.deferLease(id, until: .distantPast)
  }

  /// Records the lane of an entry whose mutation names another lane since it got an id.
  mutating func noteLane(of entry: OutboxEntry, _ mutation: MutationBox) {
    let lane = mutation.value.lane.rawValue
    guard lane != entry.lane, entry.isInLane, !(mutation.value is RequestMutation) else { return }
    renamedLanes[lane] = entry.lane
  }

  /// Returns the lane of a new entry: the lane of the entries before it, which keep the name that
  /// they were saved with.
  mutating func lane(named lane: String) -> String {
    guard let old = renamedLanes[lane] else { return lane }
    if queue.hasEntries(in: old) { return old }
    renamedLanes[lane] = nil
    return lane
  }

  /// Returns the turn of a lane, which is the same for as long as it has entries.
  mutating func laneTurn(_ lane: String) -> LaneTurn {
    if let turn = laneTurns[lane] { return turn }
    let turn = LaneTurn(lane: lane)
    laneTurns[lane] = turn
    return turn
  }

  /// Forgets the turn of a lane that has no entries any more.
  private mutating func forgetTurn(of lane: String) {
    guard !lanes.running.contains(lane), !queue.hasEntries(in: lane), laneTurns[lane] != nil,
      !submitting.values.contains(where: { $0.entry.lane == lane })
    else { return }
    laneTurns[lane] = nil
    if !renamedLanes.isEmpty { renamedLanes = renamedLanes.filter { $0.value != lane } }
  }

  /// Forgets an entry that could not be saved.
  mutating func forgetSubmitted(_ id: UUID) -> Submitted? {
    queue.identities.forget(id)
    let submitted = submitting.removeValue(forKey: id)
    if let submitted { forgetTurn(of: submitted.entry.lane) }
    return submitted
  }

  /// Returns a Boolean value that indicates whether the entries of a lane may be sent now.
  func maySend(_ lane: String) -> Bool {
    guard case .read = reading, !isStopped, removals == 0, takeovers == 0 else { return false }
    return sendsByItself
      || drains.values.contains { end in
        guard let end else { return true }
        return queue.entries[end].map { $0.isInLane && $0.lane == lane } ?? false
      }
  }

  /// Returns a Boolean value that indicates whether a read of the store since `epoch` is still
  /// valid: no removal of everything has happened or is about to.
  func isCurrent(_ epoch: Int) -> Bool { self.epoch == epoch && removals == 0 }

  /// A Boolean value that indicates whether a timer may find something to do: a lane to send, or
  /// the store to read again.
  var needsTimer: Bool {
    guard !isStopped else { return false }
    if case .failed = reading { return true }
    return sendsByItself || !drains.isEmpty
  }

  var isReady: Bool {
    switch reading {
    case .read, .failed: true
    case .unread, .reading: false
    }
  }

  /// Adds a waiter for the next change.
  mutating func addWaiter() -> OneShot<Void> {
    let shot = OneShot<Void>()
    waiters.append(shot)
    return shot
  }

  mutating func removeWaiter(_ shot: OneShot<Void>) { waiters.removeAll { $0 === shot } }

  /// Counts a change, and returns the waiters to resume.
  mutating func change() -> [OneShot<Void>] {
    version += 1
    defer { waiters = [] }
    return waiters
  }

  /// Adds an entry that is saved.
  mutating func insert(_ entry: OutboxEntry, _ item: Item) {
    queue.put(entry)
    items[entry.id] = item
    noteTurn(of: entry.id)
  }

  /// Lets a lane send.
  mutating func run(_ lane: String) {
    lanes.begin(lane)
    for id in queue.entries(in: lane) { noteTurn(of: id) }
  }

  /// Appends a lane to the lanes that wait for their turn, unless it waits already.
  mutating func starve(_ lane: String) { lanes.starve(lane) }

  /// Takes out the lane that has waited longest; `nil` if none waits, or no turn is free.
  mutating func nextStarved(_ limit: Int) -> String? { lanes.nextStarved(limit) }

  /// Records that work of `owner` waits for a write of a lane.
  mutating func beginAwaiting(_ lane: String, by owner: LockOwner, _ limit: Int) -> RunningLanes.Awaiting {
    guard let own = lanes.running.first(where: { laneTurns[$0]?.owner === owner }) else { return .none }
    return lanes.beginAwaiting(lane, from: own, limit)
  }

  mutating func endAwaiting(_ own: String) { lanes.endAwaiting(own) }

  mutating func wait(_ lane: String, atGateOf keys: Set<RecordKey>?) { lanes.wait(lane, atGateOf: keys) }

  /// The owners of the lanes without a turn, if no turn becomes free before one of several writes
  /// continues, and the keys of each of these writes; `nil` otherwise.
  func withoutTurns(_ limit: Int) -> (owners: [LockOwner], writes: [Set<RecordKey>])? {
    guard let writes = lanes.standingStill(limit) else { return nil }
    let owners = queue.laneNames.filter { !lanes.running.contains($0) }.compactMap { laneTurns[$0]?.owner }
    return (owners, writes)
  }

  /// Takes the turn from a lane, until it runs again.
  mutating func stop(_ lane: String) {
    lanes.end(lane)
    for id in turns.ids { noteTurn(of: id) }
    forgetTurn(of: lane)
  }

  /// Tells the layer which keys an entry is about to change. Call it after each change of an entry,
  /// its drafts or its lane. Redundant calls change nothing.
  mutating func noteTurn(of id: UUID) {
    let isDue = queue.entries[id].map { $0.isInLane && lanes.running.contains($0.lane) } ?? false
    turns.note(id, isDue ? items[id]?.keys ?? [] : [])
  }

  /// The largest number of an entry in a lane; `nil` if there is no entry, or if an entry has no
  /// number yet. Drafts of later entries go on top of the known drafts; all others go beneath.
  var lastInLanes: UInt64? {
    submitting.isEmpty ? queue.entries.values.lazy.filter(\.isInLane).map(\.number).max() : nil
  }

  /// Returns a Boolean value that indicates whether this process has submitted or read an entry. An
  /// entry that is being saved counts, since it may be on disk already.
  func isKnown(_ id: UUID) -> Bool { queue.entries[id] != nil || submitting[id] != nil }

  /// The server's ids, as JSON: the ids that entries contain, and the most recent
  /// others.
  var identities: [String: Data] { given.ids }

  /// Keeps ids that the server has given, and forgets old ones that no entry contains.
  mutating func keepIdentities(_ new: [String: Data]) {
    let identities = queue.identities
    given.keep(new) { !identities.holders(of: $0).isEmpty }
  }

  mutating func forgetIdentities() { given = KnownIDs() }

  /// Returns a Boolean value that indicates whether an entry that was read is one to add.
  ///
  /// - Parameter start: The start of the read. An entry that was removed here since is finished,
  ///   even if the read still found it.
  func isNew(_ id: UUID, since start: RecentRemovals.Start) -> Bool {
    !isKnown(id) && !removed.contains(id, since: start)
  }

  /// Makes room for the entries of a store.
  mutating func reserve(_ count: Int) {
    queue.reserve(count)
    items.reserveCapacity(count)
  }

  /// Replaces an entry whose new state is saved. An entry that was removed meanwhile stays removed.
  mutating func update(_ entry: OutboxEntry) {
    guard items[entry.id] != nil else { return }
    queue.put(entry)
    noteTurn(of: entry.id)
  }

  /// Removes an entry that is no longer stored; see ``OutboxQueue/remove(_:keepsIDs:)``.
  @discardableResult mutating func remove(_ id: UUID, keepsIDs: Bool = false) -> Item? {
    unreadable[id] = nil
    removed.note(id)
    let lane = queue.entries[id]?.lane
    queue.remove(id, keepsIDs: keepsIDs)
    noteTurn(of: id)
    if let lane { forgetTurn(of: lane) }
    return items.removeValue(forKey: id)
  }

  /// Removes an entry that another process has finished, or has made unreadable, so that a
  /// withdrawal that waits for it fails.
  mutating func loseToOthers(_ id: UUID) -> Item? {
    if items[id]?.isWithdrawn == true { lostWithdrawals.insert(id) }
    return remove(id, keepsIDs: true)
  }
}
