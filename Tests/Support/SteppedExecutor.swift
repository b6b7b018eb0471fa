import Synchronization

/// Runs its jobs only in ``run()``, on the caller's thread, in the order in which they came.
public final class SteppedExecutor: TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  public init() {}

  public var isIdle: Bool { jobs.withLock(\.isEmpty) }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs what there is, up to where it waits.
  public func run() {
    while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
