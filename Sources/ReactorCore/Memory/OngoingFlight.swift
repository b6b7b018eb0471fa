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

  init(_ machine: Flight, under ticket: Generations.Ticket, priority: TaskPriority?) {
    self.machine = machine
    owner = LockOwner(machine.parties.waits)
    self.ticket = ticket
    self.priority = priority
  }
}
