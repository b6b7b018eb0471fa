import Foundation
import Synchronization

/// An executor that runs all jobs on one thread, in an order that a seed decides.
final class SimulationExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// The thread of ``begin()``, the only thread that may enqueue jobs; `nil` before.
    var thread: ObjectIdentifier?
    var hasStranger = false
  }

  private let state = Mutex(State())

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let thread = ObjectIdentifier(Thread.current)
    state.withLock { state in
      state.hasStranger = state.hasStranger || state.thread.map { $0 != thread } ?? false
      state.jobs.append(job)
    }
  }

  /// A Boolean value that indicates whether another thread has enqueued a job. Then the order no
  /// longer depends only on the seed.
  var hasStranger: Bool { state.withLock { $0.hasStranger } }

  /// Makes the current thread the only thread that may enqueue jobs.
  func begin() { state.withLock { $0.thread = ObjectIdentifier(Thread.current) } }

  /// Runs one of the jobs that are ready.
  ///
  /// - Returns: `false` if no job is ready.
  func runOne(_ generator: SeededDraws) -> Bool {
    let job: UnownedJob? = state.withLock { state in
      guard !state.jobs.isEmpty else { return nil }
      state.jobs.swapAt(generator.number(below: state.jobs.count), state.jobs.count - 1)
      return state.jobs.removeLast()
    }
    guard let job else { return false }
    job.runSynchronously(on: asUnownedTaskExecutor())
    return true
  }
}
