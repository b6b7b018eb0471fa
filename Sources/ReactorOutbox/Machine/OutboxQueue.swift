import Foundation
import ReactorCore

/// The lanes of an outbox: which entry goes next, and why the others wait. It is a value, and
/// decides without a clock, a lock or a store.
struct OutboxQueue: Sendable {
  /// The circumstances of a decision.
  struct Conditions: Sendable {
    var now: Date
    var isReachable: Bool
  }

  /// The decision about a lane.
  enum Turn: Sendable, Equatable {
    /// The entry is to be sent.
    case send(UUID)
    /// The lane stands still, at least until this date; `nil` until something else changes.
    case wait(until: Date?)
    /// An entry of the lane is under way.
    case busy
    /// The lane has no entries that could be sent.
    case empty
  }

  private(set) var entries: [UUID: OutboxEntry] = [:]
  private var lanes: [String: LaneOrder] = [:]
  /// The entries that this process prepares or sends.
  private(set) var active: Set<UUID> = []
  /// The entries that another process has a lease of, and when to look again.
  private var elsewhere: [UUID: Date] = [:]
  var identities = TemporaryIDs()
  var isPaused = false
  var needsSignIn = false

  /// The lanes with entries that could be sent, in an order that is the same in each run.
  var laneNames: [String] { lanes.keys.sorted() }

  func entries(in lane: String) -> [UUID] { lanes[lane].map { Array($0.ids) } ?? [] }

  /// Adds an entry, or replaces it and moves it to the place of its number.
  mutating func put(_ entry: OutboxEntry) {
    let old = entries.updateValue(entry, forKey: entry.id)
    if let old, old.isInLane, !entry.isInLane || old.number != entry.number || old.lane != entry.lane {
      removeFromLane(old)
    }
    if entry.isInLane, old?.isInLane != true || old?.number != entry.number || old?.lane != entry.lane {
      let numbers = entries
      lanes[entry.lane, default: LaneOrder()].insert(entry.id, before: { numbers[$0]?.number ?? 0 > entry.number })
    }
    identities.note(entry)
  }

  mutating func remove(_ id: UUID) {
    guard let entry = entries.removeValue(forKey: id) else { return }
    if entry.isInLane { removeFromLane(entry) }
    active.remove(id)
    elsewhere[id] = nil
    identities.forget(id)
  }

  private mutating func removeFromLane(_ entry: OutboxEntry) {
    lanes[entry.lane]?.remove(entry.id)
    if lanes[entry.lane]?.ids.isEmpty == true { lanes[entry.lane] = nil }
  }

  /// Returns the decision about a lane.
  func turn(of lane: String, _ conditions: Conditions) -> Turn {
    guard let id = lanes[lane]?.ids.first, let entry = entries[id] else { return .empty }
    if active.contains(id) { return .busy }
    guard let block = block(entry, conditions) else { return .send(id) }
    return .wait(until: block.until)
  }

  mutating func begin(_ id: UUID) { active.insert(id) }

  mutating func end(_ id: UUID) { active.remove(id) }

  /// Notes that another process has a lease of an entry.
  mutating func deferLease(_ id: UUID, until date: Date) { elsewhere[id] = date }

  /// Forgets the backoff of entries that could not be sent: connectivity has returned.
  mutating func forgetUnsentBackoff() {
    for lane in lanes.values {
      guard let id = lane.ids.first, let entry = entries[id], entry.outcome?.kind == .unsent else { continue }
      entries[id]?.notBefore = nil
      entries[id]?.unsent = 0
    }
  }

  /// Returns the reason why an entry is not being sent; `nil` if it is under way or not in a lane.
  func reason(of id: UUID, _ conditions: Conditions) -> Outbox.Entry.Reason? {
    guard let entry = entries[id], entry.isInLane, entry.state != .conflicted, !active.contains(id) else { return nil }
    if isPaused { return .paused }
    if needsSignIn { return .signIn }
    if let owner = identities.owner(awaitedBy: id) { return .identity(of: owner) }
    guard lanes[entry.lane]?.ids.first == id else { return .turn }
    return block(entry, conditions)?.reason ?? entry.latestReason
  }

  private func block(
    _ entry: OutboxEntry, _ conditions: Conditions
  ) -> (reason: Outbox.Entry.Reason, until: Date?)? {
    if isPaused { return (.paused, nil) }
    if needsSignIn { return (.signIn, nil) }
    if entry.state == .conflicted { return (.turn, nil) }
    if let owner = identities.owner(awaitedBy: entry.id) { return (.identity(of: owner), nil) }
    if let date = elsewhere[entry.id], date > conditions.now { return (.turn, date) }
    if !conditions.isReachable { return (.connectivity, nil) }
    if let date = entry.notBefore, date > conditions.now {
      return (entry.outcome?.kind == .unsent ? .connectivity : .backoff(until: date), date)
    }
    return nil
  }
}

extension OutboxEntry {
  /// The reason why the latest attempt was none, of an entry that could be sent and is not: nothing
  /// drains the outbox.
  fileprivate var latestReason: Outbox.Entry.Reason {
    switch outcome?.kind {
    case .unsent: .connectivity
    case .signIn: .signIn
    default: .turn
    }
  }

  /// A Boolean value that indicates whether the entry has a place in its lane.
  var isInLane: Bool {
    switch state {
    case .waiting, .sending, .unknown, .conflicted: true
    case .refused, .unresolved, .accepted: false
    }
  }
}

/// The ids of a lane's entries in the order of their numbers. Both ends change in constant time.
private struct LaneOrder: Sendable {
  private(set) var ids: ArraySlice<UUID> = []

  mutating func insert(_ id: UUID, before isLater: (UUID) -> Bool) {
    if let last = ids.last, isLater(last) {
      ids.insert(id, at: ids.firstIndex(where: isLater) ?? ids.endIndex)
    } else {
      ids.append(id)
    }
  }

  mutating func remove(_ id: UUID) {
    if ids.first == id {
      ids.removeFirst()
    } else if let index = ids.firstIndex(of: id) {
      ids.remove(at: index)
    }
  }
}
