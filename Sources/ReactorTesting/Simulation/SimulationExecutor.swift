import Foundation
import Synchronization

/// Runs every job on one thread, in an order that a seed settles.
final class SimulationExecutor: TaskExecutor {
  private struct State {
    var jobs: [UnownedJob] = []
    /// Whose thread may give jobs: that of ``run(_:)``.
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

  /// A Boolean value that indicates whether a job came from another thread, so that the order is
  /// not the seed's alone.
  var hasStranger: Bool { state.withLock { $0.hasStranger } }

  /// From here on, jobs are expected from this thread alone.
  func begin() { state.withLock { $0.thread = ObjectIdentifier(Thread.current) } }

  /// Runs one of the jobs that can run.
  ///
  /// - Returns: `false` where there is none.
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
