/// The owners with access to each ``KeyedAsyncLock``, and the waiters. The table decides which of
/// them may enter, and never waits itself.
///
/// Waiters that hold nothing enter in order of arrival. Work that a holder awaits waits only for
/// other holders, never behind the queue: the queue may be waiting for that same holder. A change
/// takes as long with a thousand waiters as with one, except for a cancellation, which searches for
/// its waiter, and for work that a holder awaits.
struct KeyedAsyncLockTable: Sendable {
  typealias End = LockWaiter.End

  var gates: [ObjectIdentifier: KeyedAsyncLockState] = [:]

  /// Admits `owner` if it need not wait.
  ///
  /// - Returns: `true` if `owner` has access now.
  mutating func enter(_ gate: ObjectIdentifier, _ key: RecordKey?, _ owner: LockOwner) -> Bool {
    gates[gate, default: KeyedAsyncLockState()].enter(key, owner)
  }

  mutating func leave(_ gate: ObjectIdentifier, _ key: RecordKey?, _ owner: LockOwner) -> [End] {
    Self.admit(gates[gate]?.leave(key, owner) ?? [])
  }

  /// Queues `waiter`, unless it may enter by now or could wait for ever.
  mutating func wait(_ waiter: LockWaiter) -> [End] {
    if enter(waiter.gate, waiter.key, waiter.owner) { return Self.admit([waiter]) }
    let family = waiter.owner.family
    if family.isInside, let keys = circle(closedBy: waiter, family) {
      return [(waiter, .failure(ReactorError.deadlock(keys: keys)))]
    }
    gates[waiter.gate]?.append(waiter, isAwaitedInside: family.isInside)
    return []
  }

  /// Removes `waiter` if it still waits.
  mutating func cancel(_ waiter: LockWaiter) -> [End] {
    guard let admitted = gates[waiter.gate]?.remove(waiter) else { return [] }
    return [(waiter, .failure(CancellationError()))] + Self.admit(admitted)
  }

  /// Checks the queued work of `owner` after another owner began to wait for it. That work may now
  /// be admitted, or could now wait for ever.
  mutating func gained(_ owner: LockOwner) -> [End] {
    let id = ObjectIdentifier(owner)
    var ends: [End] = []
    for waiter in gates.values.flatMap(\.waiters).sorted(by: { $0.number < $1.number }) {
      let family = waiter.owner.family
      guard family.isInside, family.members.contains(id), let admitted = gates[waiter.gate]?.remove(waiter) else {
        continue
      }
      ends += Self.admit(admitted) + wait(waiter)
    }
    return ends
  }

  /// Returns the waiters that wait, directly or not, for `owner`, and that the flight of one of
  /// `keys` waits for, each with these keys.
  func waiters(behind owner: LockOwner, flights keys: Set<LockOwner.LayerKey>) -> [(
    waiter: LockWaiter, keys: [RecordKey]
  )] {
    var open = gates.values.flatMap(\.waiters).sorted { $0.number < $1.number }.map { ($0, $0.owner.family) }
    guard open.contains(where: { !$0.1.flights.isDisjoint(with: keys) }) else { return [] }
    var found: [(waiter: LockWaiter, keys: [RecordKey])] = []
    var awaited = owner.family.members
    while let index = open.firstIndex(where: { waiter, family in
      blockers(of: waiter, family).contains { awaited.contains(ObjectIdentifier($0)) }
    }) {
      let (waiter, family) = open.remove(at: index)
      awaited.formUnion(family.members)
      let circle = Set(family.flights.intersection(keys).map(\.key))
      if !circle.isEmpty { found.append((waiter, circle.inOrder)) }
    }
    return found
  }

  /// Ends the wait of `waiter` with an error that names `keys`, if it still waits.
  mutating func refuse(_ waiter: LockWaiter, _ keys: [RecordKey]) -> [End] {
    guard let admitted = gates[waiter.gate]?.remove(waiter) else { return [] }
    return [(waiter, .failure(ReactorError.deadlock(keys: keys)))] + Self.admit(admitted)
  }

  private static func admit(_ waiters: [LockWaiter]) -> [End] { waiters.map { ($0, .success(())) } }

  /// Returns the keys of a cycle of waits that `waiter` would close; `nil` if it would close none.
  /// In a cycle, each waiter waits for a holder that awaits the next waiter, and the last holder
  /// awaits `waiter`.
  private func circle(closedBy waiter: LockWaiter, _ family: LockOwner.Family) -> [RecordKey]? {
    let others = gates.values.flatMap(\.awaitedInside).sorted { $0.number < $1.number }.map { ($0, $0.owner.family) }
    var seen: Set<ObjectIdentifier> = []
    var open = blockers(of: waiter, family).map { (holder: $0, path: [waiter.key].compactMap(\.self)) }
    while let (holder, path) = open.popLast() {
      guard seen.insert(ObjectIdentifier(holder)).inserted else { continue }
      for (other, itsFamily) in others where itsFamily.members.contains(ObjectIdentifier(holder)) {
        let next = path + [other.key].compactMap(\.self)
        for blocker in blockers(of: other, itsFamily) {
          if family.members.contains(ObjectIdentifier(blocker)) { return next }
          open.append((blocker, next))
        }
      }
    }
    return nil
  }

  private func blockers(of waiter: LockWaiter, _ family: LockOwner.Family) -> [LockOwner] {
    gates[waiter.gate]?.blockers(of: waiter.key, family) ?? []
  }
}

/// The state of one lock.
struct KeyedAsyncLockState: Sendable {

  private struct Place: Sendable {
    /// The owners with access: an owner that held nothing before, and the work that it awaits.
    var owners: [LockOwner] = []
    /// The waiters that an owner with access awaited as they came.
    var nested: [LockWaiter] = []
    var queue: ArraySlice<LockWaiter> = []
    var isEmpty: Bool { owners.isEmpty && nested.isEmpty && queue.isEmpty }
    func isOnly(of owner: LockOwner) -> Bool {
      owners.count == 1 && owners.first === owner && nested.isEmpty && queue.isEmpty
    }
  }

  private var places: [RecordKey: Place] = [:]
  /// The owners with access to every key.
  private var whole: [LockOwner] = []
  /// The waiters for every key that an owner with access awaits.
  private var nestedWhole: [LockWaiter] = []
  /// The waiters that arrived after a waiter for every key, itself included, or during access to
  /// every key.
  private var later: ArraySlice<LockWaiter> = []

  private var isOpen: Bool { whole.isEmpty && nestedWhole.isEmpty && later.isEmpty }

  mutating func enter(_ key: RecordKey?, _ owner: LockOwner) -> Bool {
    let isFree = isOpen && (key.map { places[$0] == nil } ?? places.isEmpty)
    guard isFree || isPassed(key, by: owner.family) else { return false }
    add(key, owner)
    return true
  }

  /// Takes access from `owner`.
  ///
  /// - Returns: the waiters that have access now.
  mutating func leave(_ key: RecordKey?, _ owner: LockOwner) -> [LockWaiter] {
    owner.isInside = false
    if let key, isOpen, let index = places.index(forKey: key), places.values[index].isOnly(of: owner) {
      // Nobody waits, which is so nearly always.
      places.remove(at: index)
      return []
    }
    if let key {
      places[key]?.owners.removeAll { $0 === owner }
    } else {
      whole.removeAll { $0 === owner }
    }
    return advance(key)
  }

  mutating func append(_ waiter: LockWaiter, isAwaitedInside: Bool) {
    switch (waiter.key, isAwaitedInside) {
    case (let key?, true): places[key, default: Place()].nested.append(waiter)
    case (nil, true): nestedWhole.append(waiter)
    case (let key?, false) where isOpen: places[key, default: Place()].queue.append(waiter)
    case (_, false): later.append(waiter)
    }
  }

  /// Removes `waiter` from the queues.
  ///
  /// - Returns: the waiters that have access now; `nil` if `waiter` did not wait.
  mutating func remove(_ waiter: LockWaiter) -> [LockWaiter]? {
    guard removeFromQueues(waiter) else { return nil }
    return advance(waiter.key)
  }

  private mutating func removeFromQueues(_ waiter: LockWaiter) -> Bool {
    if let index = later.firstIndex(where: { $0 === waiter }) {
      later.remove(at: index)
    } else if let index = nestedWhole.firstIndex(where: { $0 === waiter }) {
      nestedWhole.remove(at: index)
    } else if let key = waiter.key, let index = places[key]?.nested.firstIndex(where: { $0 === waiter }) {
      places[key]?.nested.remove(at: index)
    } else if let key = waiter.key, let index = places[key]?.queue.firstIndex(where: { $0 === waiter }) {
      places[key]?.queue.remove(at: index)
    } else {
      return false
    }
    return true
  }

  /// Returns the owners with access that keep an owner with `family` out of `key`.
  func blockers(of key: RecordKey?, _ family: LockOwner.Family) -> [LockOwner] {
    let owners = key.map { places[$0]?.owners ?? [] } ?? Set(places.keys).inOrder.flatMap { places[$0]?.owners ?? [] }
    return (owners + whole).filter { !family.members.contains(ObjectIdentifier($0)) }
  }

  var waiters: [LockWaiter] { awaitedInside + places.values.flatMap(\.queue) + later }
  var awaitedInside: [LockWaiter] { nestedWhole + places.values.flatMap(\.nested) }
}

extension KeyedAsyncLockState {
  /// Admits the waiters that may enter now that an owner or a waiter of `key` has left.
  private mutating func advance(_ key: RecordKey?) -> [LockWaiter] {
    var admitted: [LockWaiter] = []
    // Other keys are unaffected if one key is released.
    for key in key.map({ [$0] }) ?? Set(places.keys).inOrder { advance(key, &admitted) }
    let waiting = nestedWhole
    nestedWhole = waiting.filter { !admit($0, &admitted) }
    while whole.isEmpty, nestedWhole.isEmpty, let next = later.first {
      if let key = next.key {
        if places[key] == nil { add(key, next.owner, &admitted, next) } else { places[key]?.queue.append(next) }
      } else {
        guard places.isEmpty else { break }
        add(nil, next.owner, &admitted, next)
      }
      later.removeFirst()
    }
    return admitted
  }

  private mutating func advance(_ key: RecordKey, _ admitted: inout [LockWaiter]) {
    guard let nested = places[key]?.nested else { return }
    let waiting = nested.filter { !admit($0, &admitted) }
    places[key]?.nested = waiting
    guard whole.isEmpty, places[key]?.owners.isEmpty == true else { return clear(key) }
    if let next = places[key]?.queue.popFirst() { add(key, next.owner, &admitted, next) }
    clear(key)
  }

  private mutating func clear(_ key: RecordKey) {
    if places[key]?.isEmpty == true { places[key] = nil }
  }

  /// Admits a nested waiter if only holders that await it have access.
  ///
  /// If no holder awaits it any more, it still enters once the lock is free: its work continues for
  /// other waiters.
  private mutating func admit(_ waiter: LockWaiter, _ admitted: inout [LockWaiter]) -> Bool {
    guard blockers(of: waiter.key, waiter.owner.family).isEmpty else { return false }
    add(waiter.key, waiter.owner, &admitted, waiter)
    return true
  }

  private func isPassed(_ key: RecordKey?, by family: LockOwner.Family) -> Bool {
    family.isInside && blockers(of: key, family).isEmpty
  }

  private mutating func add(
    _ key: RecordKey?, _ owner: LockOwner, _ admitted: inout [LockWaiter], _ waiter: LockWaiter
  ) {
    add(key, owner)
    admitted.append(waiter)
  }

  private mutating func add(_ key: RecordKey?, _ owner: LockOwner) {
    owner.isInside = true
    if let key { places[key, default: Place()].owners.append(owner) } else { whole.append(owner) }
  }
}
