import Foundation

/// The flight that a key has now, and what runs for it. Guarded by the reactor's lock; most keys have none.
final class OngoingFlight {
  var machine: Flight
  /// What it was begun under.
  let ticket: Generations.Ticket
  /// What its tasks work for.
  let owner: LockOwner
  /// What runs for it.
  var tasks: [FlightTask] = []
  var priority: TaskPriority?
  var progress: TransferProgress?
  /// Whether another reactor has stored a newer record since it began.
  var wasStoredMeanwhile = false
  /// Whether another reactor has written locally since it began. Its answer is still good for its parties, but not for one
  /// that asks later.
  var isBeforeWrite = false
  /// Copies that another variant has displaced since it began (RFC 9111 §4.1): its parties may still be content with them.
  private(set) var variants: [Copy] = []

  init(_ machine: Flight, under ticket: Generations.Ticket, priority: TaskPriority?) {
    self.machine = machine
    owner = LockOwner(machine.parties.waits)
    self.ticket = ticket
    self.priority = priority
  }

  /// Keeps a copy that another variant displaces, in place of an earlier one of the same variant.
  ///
  /// - Returns: the earlier one, to be released after the lock.
  func keep(_ displaced: Copy) -> Copy? {
    let index = variants.firstIndex { $0.head?.variant == displaced.head?.variant }
    variants.append(displaced)
    return index.map { variants.remove(at: $0) }
  }

  /// Declares stale those of the displaced copies that `isMeant` names.
  ///
  /// - Returns: the copies that were replaced, to be released after the lock.
  func invalidateVariants(at date: Date, where isMeant: (Copy) -> Bool) -> [Copy] {
    let replaced = variants.filter(isMeant)
    variants = variants.map { isMeant($0) ? $0.invalidated(at: date) : $0 }
    return replaced
  }
}
