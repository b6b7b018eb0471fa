import Foundation

/// The flight of a key and its tasks. Guarded by the reactor's lock; most keys have none.
final class Flight {
  var machine: FlightMachine
  /// The generation under which the flight began.
  let ticket: Generations.Ticket
  /// The owner that the flight's tasks work for.
  let owner: LockOwner
  /// The tasks of the flight's steps.
  var tasks: [TaskHandle] = []
  var priority: TaskPriority?
  var progress: TransferProgress?
  /// A Boolean value that indicates whether another reactor has stored a newer record since the
  /// flight began.
  var wasStoredMeanwhile = false
  /// A Boolean value that indicates whether another reactor has written locally since the flight
  /// began. The response still answers the flight's waiters, but not callers that ask later.
  var isBeforeWrite = false
  /// A Boolean value that indicates whether the server does not have the resource. A record that
  /// was read before is older.
  var foundNothing = false
  /// The request that waits for a write of the key to be sent; `nil` if none waits.
  var held: FlightStep?
  /// A Boolean value that indicates whether the flight has met a write. The next write then waits
  /// for the flight, if a caller does.
  var isOwed = false
  /// The claim that stops the next write, as ``EngineState/updatePass(of:)`` maintains it.
  var pass: (any AnyObject & Sendable)?
  /// The flight as the instrument sees it; `nil` without one.
  var record: ModelLayer.InstrumentedFlight?
  /// The copies that another variant has displaced since the flight began (RFC 9111 §4.1). Some of
  /// its waiters may still accept them.
  private(set) var variants: [CachedModel] = []

  init(_ machine: FlightMachine, under ticket: Generations.Ticket, priority: TaskPriority?, in layer: LayerContext) {
    self.machine = machine
    owner = LockOwner(
      machine.waiters.waits, flight: LockOwner.LayerKey(layer: ObjectIdentifier(layer), key: ticket.key))
    self.ticket = ticket
    self.priority = priority
  }

  /// Stores a copy that another variant displaces, and replaces an earlier copy of the same
  /// variant.
  ///
  /// - Returns: the replaced copy, to be released without the lock.
  func store(_ displaced: CachedModel) -> CachedModel? {
    let index = variants.firstIndex { $0.head?.variant == displaced.head?.variant }
    variants.append(displaced)
    return index.map { variants.remove(at: $0) }
  }

  /// Marks stale the displaced copies for which `isMeant` returns `true`.
  ///
  /// - Returns: the copies that were replaced, to be released without the lock.
  func invalidateVariants(at date: Date, where isMeant: (CachedModel) -> Bool) -> [CachedModel] {
    let replaced = variants.filter(isMeant)
    variants = variants.map { isMeant($0) ? $0.invalidated(at: date) : $0 }
    return replaced
  }
}

/// The next automatic request of a key, and the task that sleeps until then.
final class Wakeup {
  let task: TaskHandle
  /// The time on the configuration's clock since the reactor was created.
  let at: Duration

  init(task: TaskHandle, at: Duration) {
    self.task = task
    self.at = at
  }
}
