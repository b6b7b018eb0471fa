import Synchronization

/// Lets the persistence of one key be used by one at a time, in order of arrival, and by nobody while all is removed.
///
/// Re-entrant for each key: whoever is inside for a key lets in what it awaits, in tasks of the library too (``LockOwner``), and
/// nobody else. What is awaited from inside goes before those that hold nothing. A wait that could never end is an error that names
/// the keys, ``ReactorError/deadlock(keys:)``.
final class KeyedAsyncLock: Sendable {
  /// One table for all gates, since a step of one layer may await the work of another, which may await the first.
  private static let table = Mutex(KeyedAsyncLockTable())

  private var id: ObjectIdentifier { ObjectIdentifier(self) }

  deinit { Self.table.withLock { $0.gates[id] = nil } }

  /// Runs `body` alone for `key`; with `nil`, alone for every key.
  ///
  /// - Throws: `CancellationError` where the task is cancelled while it waits, ``ReactorError/deadlock(keys:)`` where it would wait
  ///   for ever, and what `body` throws. A task that need not wait enters, cancelled or not.
  func with<Result>(_ key: RecordKey?, _ body: () async throws -> Result) async throws -> Result {
    let owner = LockOwner.awaited()
    if !enter(key, owner) { try await wait(for: key, owner) }
    return try await inside(key, owner, body)
  }

  /// The same where nobody has to be waited for; else `nil`, and `body` is not run.
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
      // The handler below may have run before there was anybody to take out.
      if Task.isCancelled { Self.resume(Self.table.withLock { $0.cancel(waiter) }) }
      try await waiter.result.value.get()
    } onCancel: {
      Self.resume(Self.table.withLock { $0.cancel(waiter) })
    }
  }

  /// `wait` waits for `owner` too. Its waiters may pass now what the owner of `wait` holds, or would now wait for ever.
  static func add(_ wait: LockOwner.Wait, to owner: LockOwner) {
    owner.add(wait)
    resume(table.withLock { $0.gained(owner) })
  }

  private static func resume(_ ends: [LockWaiter.End]) {
    for end in ends { end.waiter.result.settle(end.result) }
  }
}

/// One who waits to be let in.
final class LockWaiter: Sendable {
  typealias End = (waiter: LockWaiter, result: Result<Void, any Error>)

  let gate: ObjectIdentifier
  /// `nil`: for every key.
  let key: RecordKey?
  let owner: LockOwner
  let result = OneShot<Result<Void, any Error>>()

  init(gate: ObjectIdentifier, key: RecordKey?, owner: LockOwner) {
    self.gate = gate
    self.key = key
    self.owner = owner
  }
}

/// A piece of work that may hold or wait for a key of a ``KeyedAsyncLock``: a step that is inside, a flight, a request.
///
/// Owners form a graph: each knows who waits for its end. A step that is inside for a key and awaits a fetch waits for the
/// fetch's flight, so the flight passes what the step holds, and so does all that the flight awaits in turn. The graph is what
/// finds a wait that could never end (Coffman et al., *System Deadlocks*, 1971).
package final class LockOwner: Sendable {
  /// The owner that the current task works for.
  @TaskLocal package static var current: LockOwner?

  /// One owner's wait for another's end.
  final class Wait: Sendable {
    let owner: LockOwner
    private let isOver = Atomic<Bool>(false)

    init(_ owner: LockOwner) { self.owner = owner }

    /// The owner waits no longer: what it waited for does not pass what it holds any more.
    func end() { isOver.store(true, ordering: .releasing) }

    fileprivate var isUnderWay: Bool { !isOver.load(ordering: .acquiring) }
  }

  /// Those that wait for this one's end.
  private let waits: Mutex<[Wait]>

  init(_ waits: [Wait] = []) { self.waits = Mutex(waits) }

  convenience init(_ wait: Wait?) { self.init(wait.map { [$0] } ?? []) }

  /// Work that the current task awaits to its end.
  static func awaited() -> LockOwner { LockOwner(wait()) }

  /// A wait of the current task's owner; `nil` where it has none, and so can hold nothing.
  static func wait() -> Wait? { current.map(Wait.init) }

  /// From now on `wait` waits for this one too. Use ``KeyedAsyncLock/add(_:to:)``, which sees to those that are queued.
  func add(_ wait: Wait) {
    waits.withLock { waits in
      waits.removeAll { !$0.isUnderWay }
      waits.append(wait)
    }
  }

  /// Is inside of a gate. Guarded by the gates' table.
  var isInside: Bool {
    get { inside.load(ordering: .relaxed) }
    set { inside.store(newValue, ordering: .relaxed) }
  }
  private let inside = Atomic<Bool>(false)

  /// An owner, those that wait for it, those that wait for them, and so on.
  struct Family {
    fileprivate(set) var members: Set<ObjectIdentifier>
    /// Somebody inside of a gate waits for the owner.
    fileprivate(set) var isInside = false
  }

  var family: Family {
    var family = Family(members: [ObjectIdentifier(self)])
    var open = [self]
    while let owner = open.popLast() {
      for wait in owner.waits.withLock(\.self) where wait.isUnderWay {
        guard family.members.insert(ObjectIdentifier(wait.owner)).inserted else { continue }
        if wait.owner.isInside { family.isInside = true }
        open.append(wait.owner)
      }
    }
    return family
  }
}
