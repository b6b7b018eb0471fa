/// Runs each job where it is enqueued.
final class InlineExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    UnownedJob(job).runSynchronously(on: asUnownedTaskExecutor())
  }
}
