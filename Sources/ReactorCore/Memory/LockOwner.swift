import Synchronization

/// A piece of work that may hold or wait for a key of a ``KeyGate``: a step that is inside, a flight, a request.
///
/// Owners form a graph: each knows who waits for its end. A step that is inside for a key and awaits a fetch waits for the
/// fetch's flight, so the flight passes what the step holds, and so does all that the flight awaits in turn. The graph is what
/// finds a wait that could never end (Coffman et al., *System Deadlocks*, 1971).
final class LockOwner: Sendable {
  /// The owner that the current task works for.
  @TaskLocal static var current: LockOwner?

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

  /// From now on `wait` waits for this one too. Use ``KeyGate/add(_:to:)``, which sees to those that are queued.
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
