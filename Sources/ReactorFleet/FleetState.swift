import Foundation
import HTTPCachingProxy

/// Everything of a ``Fleet`` that its lock guards: which stored responses count as the fleet's, and
/// whether messages arrive. Its methods neither wait nor perform I/O.
///
/// An *epoch* is a period in which the server has received every message. A copy is trusted in the
/// epoch in which it was made or compared with the store.
struct FleetState: Sendable {
  struct Copy: Sendable {
    /// The version of the body in the store; `nil` if the store does not have it.
    var version: FleetVersion?
    /// The version of the latest request that has shown it to be the server's.
    var latest: FleetVersion?
    var epoch: Int
    /// The exchange that the copy is from.
    var receivedAt: Date
    var url: FleetURLID
  }

  /// A state of the link to report.
  struct Report: Sendable, Hashable {
    var status: FleetStatus
    var error: FleetError?
  }

  /// A fence that was sent or received within the last minute.
  struct Floor: Sendable {
    var url: FleetURLID
    var version: FleetVersion
  }

  /// A fence that is not yet in the store.
  struct PendingFence: Sendable, Hashable {
    var url: String
    var scope: Scope
    var removes: Bool
  }

  private var link: FleetLink
  private(set) var epoch = 0 { didSet { if epoch != oldValue { change = .all } } }
  /// The copies that others have changed and observers are not yet notified of.
  private var change: CacheTierChange?
  var breaker = CircuitBreaker()
  private(set) var copies: [RecordKey: Copy] = [:]
  private var keys: [FleetURLID: Set<RecordKey>] = [:]
  /// The latest fences, each with the time until which it is kept, and its position among all
  /// received fences.
  private var floors: [FleetURLID: (version: FleetVersion, until: Duration, place: Int)] = [:]
  /// The number of received fences.
  private var fenceCount = 0
  /// The position of the newest fence that has been discarded.
  private var forgottenPlace = 0
  /// The waiting requests, in order of arrival.
  private var waiters: [FleetRecordID: [(id: UUID, signal: FleetSignal)]] = [:]
  /// The number of finished waits, and their total time.
  private var waits = (count: 0, time: Duration.zero)
  var scopes = FleetScopes()
  /// The fences that are not in the store yet, in order, each once.
  private(set) var pending: [PendingFence] = []
  /// The number of times that each pending fence was queued.
  private var pendingCounts: [PendingFence: Int] = [:]
  /// The scopes that were emptied here and not yet in the store.
  var renewals: Set<String> = []
  var leases: [FleetTicket: Duration] = [:]
  /// The records for which a request of this server has the lease, or requests it. Other requests
  /// of this server wait here, without calling the store.
  private var asking: Set<FleetRecordID> = []
  private var reported: Report?
  /// The fences that were sent since the latest beat, the oldest first. If that beat finds other
  /// generations, these fences went to URL ids that are no longer used, and are sent again.
  private var latelySent: [(fence: PendingFence, at: Duration)] = []
  private var isTelling = false
  private var isSending = false
  private var store: String?
  var checks = FleetStatistics.Checks()

  static let copyLimit = 100_000
  static let floorLimit = 10_000
  static let pendingLimit = 10_000
  static let floorTime = Duration.seconds(60)

  init(trust: Duration) { link = FleetLink(trust: trust) }

  // MARK: - The link

  var status: FleetStatus { link.status }

  /// Returns the current state, or `nil` if it was reported already or while a report is in
  /// progress. The caller reports the state, calls ``told()``, and calls this method again.
  mutating func news() -> Report? {
    guard !isTelling else { return nil }
    let report = Report(status: status, error: link.error)
    // Missing messages at the start are not reported.
    guard report != reported ?? Report(status: .blind) else { return nil }
    reported = report
    isTelling = true
    return report
  }

  mutating func told() { isTelling = false }

  /// Starts without messages from others. The store may be called.
  mutating func start(at now: Duration) {
    if status == .off { epoch += 1 }
    link.start(at: now)
  }

  mutating func stop() { link.stop() }

  /// Advances the time. Call it before each use of the state.
  mutating func advance(to now: Duration) { if link.advance(to: now) { epoch += 1 } }

  mutating func sendsBeat(_ nonce: UInt64, at now: Duration) { link.sendsBeat(nonce, at: now) }

  mutating func failedBeat(_ nonce: UInt64, _ error: FleetError) { link.failedBeat(nonce, error) }

  /// Records that the store has answered a beat. Call ``learn(_:of:since:)`` with its contents
  /// first.
  mutating func answeredBeat(_ nonce: UInt64, at now: Duration) {
    if link.answeredBeat(nonce, at: now) { epoch += 1 }
  }

  /// Records that a beat has come back.
  mutating func heardBeat(_ nonce: UInt64, at now: Duration) {
    if link.heardBeat(nonce, at: now) { epoch += 1 }
  }

  mutating func opensFeed(at now: Duration) { link.opensFeed(at: now) }

  mutating func openedFeed(at now: Duration) { link.openedFeed(at: now) }

  /// Records that the connection for messages is lost.
  mutating func lostFeed(_ error: FleetError) { link.lostFeed(error) }

  /// A Boolean value that indicates whether the connection for messages has to be replaced.
  func isDeaf(at now: Duration) -> Bool { link.isDeaf(at: now) }

  /// Forgets the fences that are too old to matter.
  mutating func forgetFloors(at now: Duration) {
    for floor in floors.values where floor.until <= now { forgottenPlace = max(forgottenPlace, floor.place) }
    floors = floors.filter { $0.value.until > now }
  }

  /// Applies the store's identity and the generations that a beat returned.
  ///
  /// - Parameter began: the time at which the beat was sent.
  /// - Returns: The fences to send again: the store was replaced, or has lost its contents.
  mutating func learn(_ pulse: FleetHeartbeat, of scopes: [String], since began: Duration) -> [Floor] {
    let isOther = store.map { $0 != pulse.store } ?? false
    var isEmptied = false
    for (scope, generation) in zip(scopes, pulse.generations) where !renewals.contains(scope) {
      if self.scopes.update(generation, of: scope) { isEmptied = true }
    }
    store = pulse.store
    guard isOther || isEmptied else {
      latelySent.removeAll { $0.at < began }
      return []
    }
    epoch += 1
    // In a new generation, every URL has another id. A response stored under it may have been
    // requested before a change whose fence went to the old id.
    guard !isEmptied else {
      sendAgain()
      return []
    }
    return floors.map { Floor(url: $0.key, version: $0.value.version) }.sorted { $0.version < $1.version }
  }

  // MARK: - Copies

  func vouches(for key: RecordKey, _ head: Record.Head) -> Bool {
    guard status != .off else { return true }
    return copies[key].map { $0.epoch == epoch && $0.receivedAt == head.receivedAt } ?? false
  }

  /// Returns `true` if the server has received every message about a key since its copy was
  /// recorded.
  func follows(_ key: RecordKey) -> Bool { status == .off || copies[key]?.epoch == epoch }

  /// Returns the copies that others have changed since the last call.
  mutating func takeChange() -> CacheTierChange? {
    defer { if change != nil { change = nil } }
    return change
  }

  private mutating func changed(_ key: RecordKey) {
    switch change {
    case .all: break
    case .keys(var keys):
      change = nil
      keys.insert(key)
      change = .keys(keys)
    case nil: change = .keys([key])
    }
  }

  /// The version of a copy's body, if the store has it.
  func version(of key: RecordKey, _ head: Record.Head) -> FleetVersion? {
    copies[key].flatMap { $0.receivedAt == head.receivedAt ? $0.version : nil }
  }

  /// Records a copy that was made or compared just now.
  ///
  /// - Parameter asked: the epoch in which the comparison started.
  mutating func note(
    _ key: RecordKey, _ url: FleetURLID, receivedAt: Date, _ version: FleetVersion?, latest: FleetVersion?, asked: Int
  ) {
    if let floor = floors[url]?.version, latest.map({ $0 <= floor }) ?? false {
      changed(key)
      return forget(key)
    }
    // Its scope was forgotten while the store was asked.
    guard version == nil || key.scope == .shared || scopes[Fleet.digest(of: key.scope)] != nil else {
      return forget(key)
    }
    if copies[key] == nil, copies.count >= Self.copyLimit { (copies, keys, change) = ([:], [:], .all) }
    copies[key] = Copy(version: version, latest: latest, epoch: asked, receivedAt: receivedAt, url: url)
    keys[url, default: []].insert(key)
  }

  /// The start of a request whose response the store does not get.
  struct Moment: Sendable {
    fileprivate var epoch: Int
    fileprivate var fenceCount: Int
  }

  var moment: Moment { Moment(epoch: epoch, fenceCount: fenceCount) }

  /// Records a copy without a version, unless a fence for it arrived since its request started.
  mutating func note(_ key: RecordKey, _ url: FleetURLID, receivedAt: Date, since moment: Moment) {
    let latest = floors[url]?.place ?? forgottenPlace
    guard latest <= moment.fenceCount else {
      changed(key)
      return forget(key)
    }
    note(key, url, receivedAt: receivedAt, nil, latest: nil, asked: moment.epoch)
  }

  mutating func forget(_ key: RecordKey) {
    guard let copy = copies.removeValue(forKey: key) else { return }
    keys[copy.url]?.remove(key)
    if keys[copy.url]?.isEmpty == true { keys[copy.url] = nil }
  }

  /// A Boolean value that indicates whether a record with these versions was declared stale.
  func isFenced(_ url: FleetURLID, _ versions: FleetVersions) -> Bool {
    guard !versions.isFenced, let latest = versions.latest else { return true }
    return floors[url].map { latest <= $0.version } ?? false
  }

  // MARK: - Messages

  /// Applies a fence that this or another server has sent.
  mutating func fence(_ url: FleetURLID, _ version: FleetVersion, at now: Duration) {
    if floors[url] == nil, floors.count >= Self.floorLimit {
      (floors, forgottenPlace, epoch) = ([:], fenceCount, epoch + 1)
    }
    fenceCount += 1
    let latest = max(version, floors[url]?.version ?? version)
    floors[url] = (latest, now + Self.floorTime, fenceCount)
    for key in keys[url] ?? [] {
      guard let latest = copies[key]?.latest, latest > version else {
        changed(key)
        forget(key)
        continue
      }
    }
  }

  /// Records that another server has stored a body, unless this server has it.
  mutating func stored(_ record: FleetRecordID, _ version: FleetVersion) -> [FleetSignal] {
    for key in keys[record.url] ?? [] where copies[key]?.latest.map({ $0 < version }) ?? true {
      // The copy is compared with the store before its next use.
      copies[key]?.epoch = -1
      changed(key)
    }
    return wake(record)
  }

  /// Returns `true` if the caller may request the lease from the store. The caller must then call
  /// ``endAsking(_:)``.
  mutating func beginAsking(_ record: FleetRecordID) -> Bool { asking.insert(record).inserted }

  mutating func endAsking(_ record: FleetRecordID) -> [FleetSignal] {
    asking.remove(record)
    return wake(record)
  }

  mutating func wait(for record: FleetRecordID, _ id: UUID, _ signal: FleetSignal) {
    waiters[record, default: []].append((id, signal))
  }

  mutating func stopWaiting(for record: FleetRecordID, _ id: UUID) {
    waiters[record]?.removeAll { $0.id == id }
    if waiters[record]?.isEmpty == true { waiters[record] = nil }
  }

  mutating func wake(_ record: FleetRecordID) -> [FleetSignal] {
    (waiters.removeValue(forKey: record) ?? []).map(\.signal)
  }

  /// Records the end of a wait for another request.
  mutating func waited(_ time: Duration) { waits = (waits.count + 1, waits.time + time) }

  var statistics: FleetStatistics {
    FleetStatistics(
      pendingInvalidations: pending.count, waiting: waiters.values.reduce(0) { $0 + $1.count }, waits: waits.count,
      waitingTime: waits.time, breakerOpenings: breaker.transitions.open,
      breakerClosings: breaker.transitions.closed, checks: checks, messageDelay: link.messageDelay)
  }

  /// Records a scope's new generation. Copies of an unknown generation may be this server's own.
  mutating func renewed(_ scope: String, _ generation: FleetGeneration) {
    guard scopes[scope] != generation else { return }
    _ = scopes.update(generation, of: scope)
    epoch += 1
    sendAgain()
  }

  /// Forgets unused scopes with their copies: messages about them no longer arrive.
  mutating func forgetScopes(at now: Duration) {
    let forgotten = scopes.forget(at: now, except: renewals)
    guard !forgotten.isEmpty else { return }
    var known: [Scope: Bool] = [:]
    for key in copies.keys {
      let isForgotten = known[key.scope] ?? forgotten.contains(Fleet.digest(of: key.scope))
      known[key.scope] = isForgotten
      guard isForgotten else { continue }
      changed(key)
      forget(key)
    }
  }

  private mutating func sendAgain() {
    let fences = latelySent.map(\.fence)
    latelySent = []
    for fence in fences { keep(fence) }
  }

  /// Removes everything of a scope. This server stops using its copies even before the store knows.
  mutating func remove(_ scope: String, at now: Duration) {
    // Removing everything is better than missing one scope.
    renewals = renewals.count < Self.pendingLimit ? renewals.union([scope]) : [Fleet.allScopes]
    for scope in renewals.intersection([scope, Fleet.allScopes]) {
      scopes.learn(UUID().uuidString, of: scope, at: now)
    }
    epoch += 1
    sendAgain()
  }

  // MARK: - Queued fences

  /// Queues a fence that could not be sent. It draws its version when it is sent, so one queued
  /// fence is enough.
  mutating func keep(_ fence: PendingFence) {
    pendingCounts[fence, default: 0] += 1
    guard pendingCounts[fence] == 1 else { return }
    pending.append(fence)
    guard pending.count > Self.pendingLimit else { return }
    // Refetching everything is better than losing one invalidation.
    (pending, pendingCounts) = ([], [:])
    renewals.insert(Fleet.allScopes)
  }

  /// A Boolean value that indicates whether a change is not yet in the store.
  var hasUnsent: Bool { !pending.isEmpty || !renewals.isEmpty }

  /// Starts sending the queue.
  ///
  /// - Returns: `false` if the queue is empty or is being sent.
  mutating func beginsSending() -> Bool {
    guard !isSending, hasUnsent else { return false }
    isSending = true
    return true
  }

  mutating func endSending() { isSending = false }

  /// Returns `true` if a change of a key's URL is queued.
  func isPending(_ key: RecordKey) -> Bool {
    !pending.isEmpty && pending.contains { $0.url == key.url && $0.scope == key.scope }
  }

  func pendingCount(of fence: PendingFence) -> Int { pendingCounts[fence] ?? 0 }

  /// Records that a fence was sent.
  ///
  /// - Parameter count: its count before it was sent. If the fence was queued again since, it is
  ///   sent again.
  mutating func sent(_ fence: PendingFence, _ count: Int, at now: Duration) {
    latelySent.append((fence, now))
    if latelySent.count > Self.pendingLimit { latelySent.removeFirst(Self.pendingLimit / 2) }
    guard count > 0, pendingCounts[fence] == count, let index = pending.firstIndex(of: fence) else { return }
    pendingCounts[fence] = nil
    pending.remove(at: index)
  }
}
