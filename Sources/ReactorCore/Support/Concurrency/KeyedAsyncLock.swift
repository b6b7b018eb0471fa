import Synchronization

/// An asynchronous lock for the persistence of each key. One task at a time has access to a key, in
/// order of arrival, and no task while everything is being removed.
///
/// Re-entrant for each key: an owner with access admits only work that it awaits, including work in
/// the library's tasks (``LockOwner``). That work goes ahead of tasks that hold nothing. A wait
/// that could never end throws ``ReactorError/deadlock(keys:)``, which names the keys.
package final class KeyedAsyncLock: Sendable {
  /// One table for all locks: a step of one layer may await the work of another, which may await
  /// the first.
  private static let table = Mutex(KeyedAsyncLockTable())

  private var id: ObjectIdentifier { ObjectIdentifier(self) }

  package init() {}

  deinit { Self.table.withLock { $0.gates[id] = nil } }

  /// Runs `body` with exclusive access to `key`; with `nil`, to every key.
  ///
  /// - Throws: `CancellationError` if the task is cancelled while it waits,
  ///   ``ReactorError/deadlock(keys:)`` if the wait could never end, and the errors of `body`. A
  ///   task that need not wait enters even if it is cancelled.
  package func with<Result>(_ key: RecordKey?, _ body: () async throws -> Result) async throws -> Result {
    let owner = LockOwner.awaited()
    if !enter(key, owner) { try await wait(for: key, owner) }
    return try await inside(key, owner, body)
  }

  /// Runs `body` as ``with(_:_:)`` does, if that needs no waiting. Otherwise returns `nil` and does
  /// not run it.
  func withoutWaiting<Result>(_ key: RecordKey?, _ body: () async throws -> Result) async throws -> Result? {
    let owner = LockOwner.awaited()
    return enter(key, owner) ? try await inside(key, owner, body) : nil
  }

  private func inside<Result>(
    _ key: RecordKey?, _ owner: LockOwner, _ body: () async throws -> Result
  ) async throws -> Result {
    defer { Self.resume(Self.table.withLock { $0.leave(id, key, owner) }) }
    return try await LockOwner.$current.withValue(owner) { try await body() }
  }

  private func enter(_ key: RecordKey?, _ owner: LockOwner) -> Bool {
    Self.table.withLock { $0.enter(id, key, owner) }
  }

  private func wait(for key: RecordKey?, _ owner: LockOwner) async throws {
    let waiter = LockWaiter(gate: id, key: key, owner: owner)
    try await withTaskCancellationHandler {
      Self.resume(Self.table.withLock { $0.wait(waiter) })
      WaitObserver.ownersGainedWaits()
      // The cancellation handler may have run before the waiter was queued.
      if Task.isCancelled { Self.resume(Self.table.withLock { $0.cancel(waiter) }) }
      try await waiter.result.value.get()
    } onCancel: {
      Self.resume(Self.table.withLock { $0.cancel(waiter) })
    }
  }

  /// Adds `wait` to the waits for `owner`, unless `owner` already waits, directly or not, for the
  /// owner of `wait`.
  ///
  /// The search and the addition are one step under the table's lock: if two flights begin to wait
  /// for each other at the same time, one of them is refused. Call ``add(_:to:)`` next, once no
  /// lock is held.
  ///
  /// - Returns: `false` if the wait would never end.
  static func begin(_ wait: LockOwner.Wait, for owner: LockOwner) -> Bool {
    table.withLock { _ in
      guard !wait.owner.family.members.contains(ObjectIdentifier(owner)) else { return false }
      owner.add(wait)
      return true
    }
  }

  /// Adds `wait` to the waits for `owner`, unless it is among them. Queued work of `owner` may now
  /// share the access of the waiting owner, or could now wait for ever.
  package static func add(_ wait: LockOwner.Wait, to owner: LockOwner) {
    owner.add(wait)
    resume(table.withLock { $0.gained(owner) })
    WaitObserver.ownersGainedWaits()
  }

  /// Runs `body`, which awaits work of `owner`. That work shares the access of the current task's
  /// owner meanwhile.
  ///
  /// - Parameter refused: called at most once, with the keys of a circle, if the work of `owner`
  ///   turns out to need what the current task holds until `body` returns. It must end `body`.
  /// - Returns: `nil` if the work of `owner` awaits the current task, so that neither would end.
  package static func awaiting<Result>(
    _ owner: LockOwner, refused: @escaping @Sendable ([RecordKey]) -> Void, _ body: () async -> Result
  ) async -> Result? {
    guard let wait = LockOwner.wait(refused: refused) else { return await body() }
    guard begin(wait, for: owner) else { return nil }
    defer { wait.end() }
    add(wait, to: owner)
    return await body()
  }

  /// Refuses the waiters for a key that `owner` holds, if the flight of one of `keys` waits for
  /// them: `owner` waits for that flight. Call it without a lock.
  package static func refuse(behind owner: LockOwner, flights keys: Set<LockOwner.LayerKey>) {
    for (waiter, circle) in table.withLock({ $0.waiters(behind: owner, flights: keys) }) {
      // A wait nearer to the flight, if one of them can be refused.
      guard waiter.owner.refuseFlights(of: keys) != nil else { continue }
      resume(table.withLock { $0.refuse(waiter, circle) })
    }
  }

  private static func resume(_ ends: [LockWaiter.End]) {
    for end in ends { end.waiter.result.settle(end.result) }
  }
}

/// A task that waits for access.
final class LockWaiter: Sendable {
  typealias End = (waiter: LockWaiter, result: Result<Void, any Error>)

  let gate: ObjectIdentifier
  /// The key that the task waits for; `nil` for every key.
  let key: RecordKey?
  let owner: LockOwner
  /// The place of the wait among all others, so that several of them end in an order that is the
  /// same in each run.
  let number = LockWaiter.numbers.wrappingAdd(1, ordering: .relaxed).newValue
  let result = OneShot<Result<Void, any Error>>()

  private static let numbers = Atomic<UInt64>(0)

  init(gate: ObjectIdentifier, key: RecordKey?, owner: LockOwner) {
    self.gate = gate
    self.key = key
    self.owner = owner
  }
}

/// A piece of work that may hold a key of a ``KeyedAsyncLock`` or wait for one: a step with access,
/// a flight, a request.
///
/// Owners form a graph: each has a list of the owners that wait for its end. A step that has access
/// to a key and awaits a fetch waits for the fetch's flight. The flight may therefore share the
/// step's access, and so may everything that the flight awaits in turn. The graph also shows a wait
/// that could never end (Coffman et al., *System Deadlocks*, 1971).
package final class LockOwner: Sendable {
  /// The owner that the current task works for.
  @TaskLocal package static var current: LockOwner?

  /// The wait of one owner until another is finished.
  package final class Wait: Sendable {
    let owner: LockOwner
    private let isOver = Atomic<Bool>(false)
    private let refused: (@Sendable ([RecordKey]) -> Void)?

    init(_ owner: LockOwner, refused: (@Sendable ([RecordKey]) -> Void)? = nil) {
      (self.owner, self.refused) = (owner, refused)
    }

    /// Ends the wait. The awaited owner no longer shares the access of this one.
    package func end() { isOver.store(true, ordering: .releasing) }

    fileprivate var isUnderWay: Bool { !isOver.load(ordering: .acquiring) }

    /// Ends the wait with an error, if it can be refused.
    fileprivate func refuse(_ keys: [RecordKey]) -> Bool {
      guard let refused else { return false }
      if !isOver.exchange(true, ordering: .acquiringAndReleasing) { refused(keys) }
      return true
    }
  }

  /// The waits of other owners until this one is finished.
  private let waits: Mutex<[Wait]>

  /// A key of a layer.
  package struct LayerKey: Hashable, Sendable {
    let layer: ObjectIdentifier
    let key: RecordKey

    package init(layer: ObjectIdentifier, key: RecordKey) { (self.layer, self.key) = (layer, key) }
  }

  private let ownFlight: LayerKey?
  private let flightIsOver = Atomic<Bool>(false)

  init(_ waits: [Wait], flight: LayerKey? = nil) {
    self.waits = Mutex(waits)
    ownFlight = flight
  }

  /// The key whose flight the owner is, until that has answered; `nil` for an owner without a
  /// flight.
  var flight: LayerKey? { flightIsOver.load(ordering: .acquiring) ? nil : ownFlight }

  /// Ends the flight. Steps of it may continue, and nothing waits for them.
  func endFlight() { flightIsOver.store(true, ordering: .releasing) }

  package convenience init() { self.init([]) }

  package convenience init(_ wait: Wait?) { self.init(wait.map { [$0] } ?? []) }

  /// Returns an owner for work that the current task awaits to its end.
  static func awaited() -> LockOwner { LockOwner(wait()) }

  /// Returns a wait of the current task's owner; `nil` if the task has none and so holds nothing.
  package static func wait(refused: (@Sendable ([RecordKey]) -> Void)? = nil) -> Wait? {
    current.map { Wait($0, refused: refused) }
  }

  /// Adds `wait` to the waits for this owner, unless it is among them. Call
  /// ``KeyedAsyncLock/add(_:to:)`` instead if work of this owner may be queued.
  func add(_ wait: Wait) {
    waits.withLock { waits in
      waits.removeAll { !$0.isUnderWay || $0 === wait }
      waits.append(wait)
    }
  }

  /// A Boolean value that indicates whether the owner has access to a key. Guarded by the table of
  /// the locks.
  var isInside: Bool {
    get { inside.load(ordering: .relaxed) }
    set { inside.store(newValue, ordering: .relaxed) }
  }
  private let inside = Atomic<Bool>(false)

  /// An owner and all owners that wait for it, directly or not.
  package struct Family {
    fileprivate(set) var members: Set<ObjectIdentifier>
    /// A Boolean value that indicates whether an owner with access to a key waits for this one.
    fileprivate(set) var isInside = false
    /// The keys whose flights wait for this owner.
    package fileprivate(set) var flights: Set<LayerKey> = []
  }

  /// Refuses the waits for this owner on which the flight of one of `keys` depends. A write of a
  /// key waits until its flight is over, or begins the flight again.
  ///
  /// In a chain of waits, the wait nearest to the flight is refused: another write may stand
  /// between it and this owner, and continues.
  ///
  /// - Returns: the keys of a wait that cannot be refused; `nil` if every wait can be refused.
  package func refuseFlights(of keys: Set<LayerKey>) -> [RecordKey]? {
    for wait in waits.withLock(\.self) where wait.isUnderWay {
      func circle() -> Set<LayerKey> { wait.owner.family.flights.intersection(keys) }
      guard !circle().isEmpty else { continue }
      if wait.owner.flight.map(keys.contains) != true { _ = wait.owner.refuseFlights(of: keys) }
      let rest = Set(circle().map(\.key))
      if !rest.isEmpty, !wait.refuse(rest.inOrder) { return rest.inOrder }
    }
    return nil
  }

  package var family: Family {
    var family = Family(members: [ObjectIdentifier(self)])
    if let flight { family.flights.insert(flight) }
    var open = [self]
    while let owner = open.popLast() {
      for wait in owner.waits.withLock(\.self) where wait.isUnderWay {
        guard family.members.insert(ObjectIdentifier(wait.owner)).inserted else { continue }
        if wait.owner.isInside { family.isInside = true }
        if let flight = wait.owner.flight { family.flights.insert(flight) }
        open.append(wait.owner)
      }
    }
    return family
  }
}

extension Set<RecordKey> {
  /// The keys in an order that is the same in each run.
  var inOrder: [RecordKey] { sortedUnspecialized { $0.identity < $1.identity } }
}
