import Foundation
import ReactorCore

/// The lanes of an outbox: which entry is sent next, and why the others wait. A pure value: it
/// decides without a clock, a lock or a store.
struct OutboxQueue: Sendable {
  /// The circumstances of a decision.
  struct Conditions: Sendable {
    var now: Date
    var isReachable: Bool

    /// Returns `true` if `date` is ahead. A date further ahead than the longest wait was recorded
    /// before the clock was set back. It counts as past; otherwise nothing might be sent for years.
    fileprivate func isBefore(_ date: Date, atMost seconds: Double) -> Bool {
      date > now && date.timeIntervalSince(now) <= seconds
    }
  }

  /// The longest wait of an entry, in seconds: a day, for a `Retry-After`, and a bit.
  private static let longestWait = 86_401.0
  /// The longest time for which an entry is left to another process, in seconds.
  private static let longestLease = 60.0

  /// The decision about a lane.
  enum Turn: Sendable, Equatable {
    /// The entry is to be sent.
    case send(UUID)
    /// The lane is blocked, at least until this date; `nil` until something else changes.
    case wait(until: Date?)
    /// An entry of the lane is being sent.
    case busy
    /// The lane has no entries that could be sent.
    case empty
  }

  private(set) var entries: [UUID: OutboxEntry] = [:]
  private var lanes: [String: NumberedOrder<UInt64, UUID>] = [:]
  /// The entries that this process prepares or sends.
  private(set) var active: Set<UUID> = []
  /// The entries that another process has leased, and when to check again.
  private var elsewhere: [UUID: Date] = [:]
  var identities = TemporaryIDs()
  var isPaused = false
  var isStopped = false
  /// A Boolean value that indicates whether nothing is sent until the user has signed in.
  var needsSignIn = false
  /// The entries that the server has refused for the user although the credential was new. Each
  /// blocks only its own lane.
  private var refusedForUser: Set<UUID> = []

  /// The lanes with entries that could be sent, by their first entries.
  var laneNames: [String] {
    let names = lanes.map { (number: $0.value.first.flatMap { entries[$0]?.number } ?? 0, name: $0.key) }
    return names.sorted { ($0.number, $0.name) < ($1.number, $1.name) }.map(\.name)
  }

  /// A Boolean value that indicates whether a lane has entries that could be sent.
  var hasLanes: Bool { !lanes.isEmpty }

  func hasEntries(in lane: String) -> Bool { lanes[lane] != nil }

  func entries(in lane: String) -> [UUID] { lanes[lane]?.ids ?? [] }

  /// Makes room for this many entries.
  mutating func reserve(_ count: Int) { entries.reserveCapacity(count) }

  /// Adds an entry, or replaces it and moves it to the place of its number.
  mutating func put(_ entry: OutboxEntry) {
    let old = entries.updateValue(entry, forKey: entry.id)
    if old?.place != entry.place {
      if let place = old?.place { removeFromLane(entry.id, place) }
      if let place = entry.place { lanes[place.lane, default: NumberedOrder()].insert(entry.id, at: place.number) }
    }
    // Most changes do not touch the arguments, which then need no second scan.
    if let old, old.place != nil, old.place == entry.place, old.arguments == entry.arguments { return }
    identities.note(entry)
  }

  /// Removes an entry.
  ///
  /// - Parameter keepsIDs: `true` if its temporary ids are still needed: it is put back at once, or
  ///   the caller looks for the entries that wait for it.
  mutating func remove(_ id: UUID, keepsIDs: Bool = false) {
    if !keepsIDs { identities.forget(id) }
    guard let entry = entries.removeValue(forKey: id) else { return }
    if let place = entry.place { removeFromLane(id, place) }
    active.remove(id)
    elsewhere[id] = nil
    refusedForUser.remove(id)
  }

  private mutating func removeFromLane(_ id: UUID, _ place: OutboxEntry.Place) {
    lanes[place.lane]?.remove(id, at: place.number)
    if lanes[place.lane]?.isEmpty == true { lanes[place.lane] = nil }
  }

  /// Returns the entry of a lane whose turn it is. Skips an entry that needs an id from an entry
  /// behind it.
  private func first(of lane: String) -> UUID? {
    guard let lane = lanes[lane], let first = lane.first else { return nil }
    return identities.isBehindItsGiver(first) ? lane.ids.first { !identities.isBehindItsGiver($0) } : first
  }

  /// Returns the next step of a lane.
  func turn(of lane: String, _ conditions: Conditions) -> Turn {
    guard lanes[lane] != nil else { return .empty }
    guard let id = first(of: lane), let entry = entries[id] else { return .wait(until: nil) }
    if active.contains(id) { return .busy }
    guard let block = block(entry, conditions) else { return .send(id) }
    return .wait(until: block.until)
  }

  /// Returns `true` if an entry is the first of its lane, and waits for no other entry's id.
  func mayGo(_ id: UUID) -> Bool {
    entries[id].map { first(of: $0.lane) == id } == true && identities.owner(awaitedBy: id) == nil
  }

  mutating func begin(_ id: UUID) { active.insert(id) }

  mutating func end(_ id: UUID) { active.remove(id) }

  /// Blocks an entry until the user has signed in.
  mutating func waitForSignIn(_ id: UUID) { refusedForUser.insert(id) }

  /// Releases all entries that wait for a sign-in.
  mutating func signedIn() {
    needsSignIn = false
    refusedForUser = []
  }

  /// Records that another process has a lease of an entry.
  mutating func deferLease(_ id: UUID, until date: Date) { elsewhere[id] = date }

  /// Forgets the backoff of entries that could not be sent: connectivity or the server has
  /// returned, or the program wants another attempt.
  mutating func forgetUnsentBackoff() {
    for lane in lanes.keys {
      guard let id = first(of: lane), let entry = entries[id], entry.outcome?.kind == .unsent else { continue }
      // Later waits keep growing, in case connectivity is intermittent.
      entries[id]?.notBefore = nil
    }
  }

  /// Returns the reason why an entry is not being sent; `nil` if it is being sent or not in a lane.
  func reason(of entry: OutboxEntry, _ conditions: Conditions) -> Outbox.Entry.Reason? {
    guard entry.isInLane, entry.state != .conflicted, !active.contains(entry.id) else { return nil }
    if isPaused { return .paused }
    if needsSignIn { return .signIn }
    if let owner = identities.owner(awaitedBy: entry.id) { return .identity(of: owner) }
    guard first(of: entry.lane) == entry.id else { return .turn }
    return block(entry, conditions)?.reason ?? (isStopped ? .stopped : entry.latestReason)
  }

  private func block(
    _ entry: OutboxEntry, _ conditions: Conditions
  ) -> (reason: Outbox.Entry.Reason, until: Date?)? {
    if isPaused { return (.paused, nil) }
    if needsSignIn { return (.signIn, nil) }
    if refusedForUser.contains(entry.id) { return (.signIn, nil) }
    if entry.state == .conflicted { return (.turn, nil) }
    if let owner = identities.owner(awaitedBy: entry.id) { return (.identity(of: owner), nil) }
    if let date = elsewhere[entry.id], conditions.isBefore(date, atMost: Self.longestLease) { return (.turn, date) }
    if !conditions.isReachable { return (.connectivity, nil) }
    // A wait that starts later than now is also from before the clock was set back. Up to a minute
    // counts as an adjustment.
    let hasBegun = entry.outcome.map { $0.date.timeIntervalSince(conditions.now) < 60 } ?? true
    if let date = entry.notBefore, hasBegun, conditions.isBefore(date, atMost: Self.longestWait) {
      return (entry.isOffline ? .connectivity : .backoff(until: date), date)
    }
    return nil
  }
}

extension OutboxEntry {
  /// The reason why the latest attempt sent nothing, for an entry that could be sent now but waits
  /// until something drains the outbox.
  fileprivate var latestReason: Outbox.Entry.Reason {
    switch outcome?.kind {
    case .signIn: .signIn
    // The time is over, and nothing drains the outbox.
    case .unsent where isOffline: .connectivity
    case .unsent: notBefore.map { .backoff(until: $0) } ?? .turn
    default: .turn
    }
  }

  /// A Boolean value that indicates whether the latest attempt has found no connectivity, whatever
  /// `Reachability` says: the app's transport may have its own offline switch.
  fileprivate var isOffline: Bool {
    outcome?.kind == .unsent && outcome?.reason == ReactorError.noConnectivity.reason
  }

  /// A place among the entries that can be sent.
  fileprivate struct Place: Equatable {
    var lane: String
    var number: UInt64
  }

  fileprivate var place: Place? { isInLane ? Place(lane: lane, number: number) : nil }

  /// A Boolean value that indicates whether the entry has a place in its lane.
  var isInLane: Bool {
    switch state {
    case .waiting, .sending, .unknown, .conflicted: true
    case .refused, .unresolved, .accepted: false
    }
  }
}
