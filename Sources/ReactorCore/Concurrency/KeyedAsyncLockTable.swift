/// Who is inside of each ``KeyedAsyncLock``, and who waits: decides who may enter, without waiting itself.
///
/// Who holds nothing waits in order of arrival. Who is awaited by a holder waits for other holders alone, never behind those that
/// queue: they may be waiting for that very holder. With a thousand waiters a change takes as long as with one, except for a
/// cancellation, which looks for its waiter, and for what is awaited from inside.
struct KeyedAsyncLockTable: Sendable {
  typealias End = LockWaiter.End

  var gates: [ObjectIdentifier: KeyedAsyncLockState] = [:]

  /// - Returns: `true` where `owner` is inside now.
  mutating func enter(_ gate: ObjectIdentifier, _ key: RecordKey?, _ owner: LockOwner) -> Bool {
    gates[gate, default: KeyedAsyncLockState()].enter(key, owner)
  }

  mutating func leave(_ gate: ObjectIdentifier, _ key: RecordKey?, _ owner: LockOwner) -> [End] {
    Self.admit(gates[gate]?.leave(key, owner) ?? [])
  }

  /// Queues `waiter`, unless it can enter by now or would wait for ever.
  mutating func wait(_ waiter: LockWaiter) -> [End] {
    if enter(waiter.gate, waiter.key, waiter.owner) { return Self.admit([waiter]) }
    let family = waiter.owner.family
    if family.isInside, let keys = circle(closedBy: waiter, family) {
      return [(waiter, .failure(ReactorError.deadlock(keys: keys)))]
    }
    gates[waiter.gate]?.append(waiter, isAwaitedInside: family.isInside)
    return []
  }

  /// Takes `waiter` out, if it still waits.
  mutating func cancel(_ waiter: LockWaiter) -> [End] {
    guard let admitted = gates[waiter.gate]?.remove(waiter) else { return [] }
    return [(waiter, .failure(CancellationError()))] + Self.admit(admitted)
  }

  /// Somebody else waits for `owner` now, so those of its waiters that are queued may pass more than before, or wait for ever.
  mutating func gained(_ owner: LockOwner) -> [End] {
    let id = ObjectIdentifier(owner)
    var ends: [End] = []
    for waiter in gates.values.flatMap(\.waiters) {
      let family = waiter.owner.family
      guard family.isInside, family.members.contains(id), let admitted = gates[waiter.gate]?.remove(waiter) else {
        continue
      }
      ends += Self.admit(admitted) + wait(waiter)
    }
    return ends
  }

  private static func admit(_ waiters: [LockWaiter]) -> [End] { waiters.map { ($0, .success(())) } }

  /// The keys of a circle of waits that `waiter` would close: it waits for somebody inside, who awaits another waiter, and so on
  /// to one that waits for a holder that awaits `waiter`.
  private func circle(closedBy waiter: LockWaiter, _ family: LockOwner.Family) -> [RecordKey]? {
    let others = gates.values.flatMap(\.awaitedInside).map { ($0, $0.owner.family) }
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

/// One gate of the table.
struct KeyedAsyncLockState: Sendable {

  private struct Place: Sendable {
    /// Inside: one that came from outside, and what it awaits.
    var owners: [LockOwner] = []
    /// Awaited by somebody inside of a gate.
    var nested: [LockWaiter] = []
    var queue: ArraySlice<LockWaiter> = []
    var isEmpty: Bool { owners.isEmpty && nested.isEmpty && queue.isEmpty }
  }

  private var places: [RecordKey: Place] = [:]
  /// Inside for every key.
  private var whole: [LockOwner] = []
  /// As ``Place/nested``, for every key.
  private var nestedWhole: [LockWaiter] = []
  /// Who came after one that waits to be inside for every key, or while one was.
  private var later: ArraySlice<LockWaiter> = []

  private var isOpen: Bool { whole.isEmpty && nestedWhole.isEmpty && later.isEmpty }

  mutating func enter(_ key: RecordKey?, _ owner: LockOwner) -> Bool {
    let isFree = isOpen && (key.map { places[$0] == nil } ?? places.isEmpty)
    guard isFree || isPassed(key, by: owner.family) else { return false }
    add(key, owner)
    return true
  }

  /// - Returns: those that are inside now.
  mutating func leave(_ key: RecordKey?, _ owner: LockOwner) -> [LockWaiter] {
    owner.isInside = false
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

  /// - Returns: those that are inside now that `waiter` waits no longer; `nil` where it did not wait.
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

  /// Those inside that keep one with `family` out of `key`.
  func blockers(of key: RecordKey?, _ family: LockOwner.Family) -> [LockOwner] {
    let owners = key.map { places[$0]?.owners ?? [] } ?? places.values.flatMap(\.owners)
    return (owners + whole).filter { !family.members.contains(ObjectIdentifier($0)) }
  }

  var waiters: [LockWaiter] { awaitedInside + places.values.flatMap(\.queue) + later }
  var awaitedInside: [LockWaiter] { nestedWhole + places.values.flatMap(\.nested) }
}

extension KeyedAsyncLockState {
  /// Somebody holds or waits for `key` no longer: lets in who may enter now.
  private mutating func advance(_ key: RecordKey?) -> [LockWaiter] {
    var admitted: [LockWaiter] = []
    // Who leaves one key leaves the others as they were.
    for key in key.map({ [$0] }) ?? Array(places.keys) { advance(key, &admitted) }
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

  /// Lets one in that somebody inside awaits, if it may enter.
  private mutating func admit(_ waiter: LockWaiter, _ admitted: inout [LockWaiter]) -> Bool {
    guard isPassed(waiter.key, by: waiter.owner.family) else { return false }
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
