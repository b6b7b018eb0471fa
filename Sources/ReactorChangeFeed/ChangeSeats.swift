/// The clients of a feed, and which of them wait for a change.
///
/// A value without I/O: the feed guards it with its lock, and resumes the returned waiters after it
/// has released the lock.
struct ChangeSeats<Waiter: Sendable>: Sendable {
  private struct Seat {
    let audiences: Set<ChangeAudience>
    let onStall: @Sendable () -> Void
    /// The time at which the client was given its latest piece; `nil` while it waits for another.
    var givenAt: Duration?
    var waiter: Waiter?
    /// The time at which the waiter has to write, whatever changes.
    var dueAt: Duration = .zero
  }

  private var seats: [UInt64: Seat] = [:]
  private var members: [ChangeAudience: Set<UInt64>] = [:]
  private var last: UInt64 = 0

  var count: Int { seats.count }

  /// The clients that wait.
  var waiting: Int { seats.count { $0.value.waiter != nil } }

  func count(of audience: ChangeAudience) -> Int { members[audience]?.count ?? 0 }

  func contains(_ id: UInt64) -> Bool { seats[id] != nil }

  mutating func add(_ audiences: Set<ChangeAudience>, at now: Duration, onStall: @escaping @Sendable () -> Void)
    -> UInt64
  {
    last += 1
    seats[last] = Seat(audiences: audiences, onStall: onStall, givenAt: now)
    for audience in audiences { members[audience, default: []].insert(last) }
    return last
  }

  mutating func remove(_ id: UInt64) -> Waiter? {
    guard let seat = seats.removeValue(forKey: id) else { return nil }
    for audience in seat.audiences {
      members[audience]?.remove(id)
      if members[audience]?.isEmpty == true { members[audience] = nil }
    }
    return seat.waiter
  }

  /// Removes the clients of an audience, and returns the waiters among them.
  mutating func removeAll(of audience: ChangeAudience) -> [Waiter] { ids(of: audience).compactMap { remove($0) } }

  private func ids(of audience: ChangeAudience) -> [UInt64] {
    audience == .everyone ? Array(seats.keys) : Array(members[audience] ?? [])
  }
}

/// Waiting and writing.
extension ChangeSeats {
  /// Notes that a client was given bytes, and has yet to ask for more.
  mutating func give(_ id: UInt64, at now: Duration) { seats[id]?.givenAt = now }

  /// Notes that a client waits.
  ///
  /// - Returns: `false` if another reader of its stream waits already.
  mutating func wait(_ id: UInt64, _ waiter: Waiter, until dueAt: Duration) -> Bool {
    guard var seat = seats[id], seat.waiter == nil else { return false }
    (seat.waiter, seat.dueAt, seat.givenAt) = (waiter, dueAt, nil)
    seats[id] = seat
    return true
  }

  /// Takes the waiter of one client.
  mutating func wake(_ id: UInt64) -> Waiter? {
    guard let waiter = seats[id]?.waiter else { return nil }
    seats[id]?.waiter = nil
    return waiter
  }

  /// Takes the waiters of an audience.
  mutating func wake(_ audience: ChangeAudience) -> [Waiter] { ids(of: audience).compactMap { wake($0) } }

  /// Takes the waiters who have to write.
  mutating func wakeDue(at now: Duration) -> [Waiter] {
    seats.filter { $0.value.waiter != nil && $0.value.dueAt <= now }.keys.compactMap { wake($0) }
  }

  /// Removes the clients who have not taken their latest piece for as long as `patience`, and
  /// returns what they left to be called.
  mutating func removeStalled(at now: Duration, patience: Duration) -> [@Sendable () -> Void] {
    let stalled = seats.filter { $0.value.givenAt.map { now - $0 >= patience } ?? false }
    for id in stalled.keys { _ = remove(id) }
    return stalled.values.map(\.onStall)
  }
}
