/// When a key is asked for again without anybody's doing, and the task that sleeps until then.
final class Wakeup {
  let task: FlightTask
  /// On the reactor's clock, since it was made.
  let at: Duration

  init(task: FlightTask, at: Duration) {
    self.task = task
    self.at = at
  }
}
