import Foundation
import HTTPTypes
import ReactorTesting
import Synchronization

/// One run of one seed.
struct SimulationRun: Sendable {
  typealias Body = @Sendable (SimulatedWorld) async throws -> Void

  var failure: String?
  let steps: Int
  let trace: [String]

  /// Runs a seed on its own thread.
  static func of(
    _ seed: UInt64, maximumSteps: Int = .max, keepsTrace: Bool = false, _ body: @escaping Body
  ) async -> SimulationRun {
    await withCheckedContinuation { continuation in
      let thread = Thread {
        continuation.resume(returning: run(seed, maximumSteps, keepsTrace, body))
      }
      // Jobs nest on the stack when one resumes another.
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  /// Returns the report of a failure, after a binary search for fewer steps that still fail. The
  /// result is not always the minimum.
  static func shortest(_ seed: UInt64, _ steps: Int, _ failure: String, _ body: @escaping Body) async -> String {
    var (passing, failing) = (-1, steps)
    while failing - passing > 1 {
      let middle = (passing + failing) / 2
      if await of(seed, maximumSteps: middle, body).failure == nil { passing = middle } else { failing = middle }
    }
    let run = await of(seed, maximumSteps: failing, keepsTrace: true, body)
    let lines = run.trace.suffix(200).map { "  \($0)" }.joined(separator: "\n")
    return """
      seed \(seed) fails: \(failure)
      reproduce it with REACTOR_SEED=\(seed); the first \(failing) of \(steps) steps suffice: \(run.failure ?? "which passed when run again")
      \(lines)
      """
  }

  private static func run(
    _ seed: UInt64, _ maximumSteps: Int, _ keepsTrace: Bool, _ body: @escaping Body
  ) -> SimulationRun {
    let executor = SimulationExecutor()
    weak var clock: TestClock?
    var run = SimulationRun(failure: nil, steps: 0, trace: [])
    do {
      let world = SimulatedWorld(seed: seed, executor: executor, maximumSteps: maximumSteps, keepsTrace: keepsTrace)
      clock = world.clock
      run = live(in: world, executor, body)
    }
    // A task or a cycle that still holds the clock can never end.
    if clock != nil { run.failure = run.failure ?? somebodyLeft }
    return run
  }

  private static func live(
    in world: SimulatedWorld, _ executor: SimulationExecutor, _ body: @escaping Body
  ) -> SimulationRun {
    let order = SeededDraws(seed: ~world.seed)
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    executor.begin()
    let root = Task(executorPreference: executor) {
      do {
        try await body(world)
        outcome.withLock { $0 = .success(()) }
      } catch {
        outcome.withLock { $0 = .failure(error) }
      }
    }
    var failure = loop(executor, world, order, until: { outcome.withLock { $0 != nil } || world.violation != nil })
    if case .failure(let error) = outcome.withLock(\.self) { failure = failure ?? "\(error)" }
    if let violation = world.violation { failure = violation.description }
    if failure != nil { root.cancel() }
    // The remaining tasks end by themselves: timers, and their consequences.
    let endless = loop(executor, world, order, until: { false })
    // The server may capture the world, which would be a cycle.
    world.network.serve { _, _ in (HTTPResponse(status: .notFound), Data()) }
    return SimulationRun(
      failure: failure ?? (endless == nothingLeft ? nil : endless), steps: world.steps, trace: world.trace)
  }

  /// Runs the jobs that are ready, and advances the clock when no job is ready.
  ///
  /// - Returns: The reason why the run cannot continue, or `nil` once `isDone` returns `true`.
  private static func loop(
    _ executor: SimulationExecutor, _ world: SimulatedWorld, _ order: SeededDraws, until isDone: () -> Bool
  ) -> String? {
    var jobs = 0
    while jobs < maximumJobs {
      if isDone() { return nil }
      if executor.hasStranger { return stranger }
      if executor.runOne(order) {
        jobs += 1
        continue
      }
      guard let next = world.clock.nextDeadline else { return nothingLeft }
      world.clock.advance(to: next)
    }
    return "the run did not end after \(maximumJobs) jobs"
  }

  private static let nothingLeft =
    "the simulation is stuck: a task waits for something that cannot happen, or for a task outside of the simulation (\(outside))"
  private static let somebodyLeft =
    "after the end of the body, a task or a reference cycle still retains the world's clock"
  private static let stranger =
    "a job came from a task outside of the simulation (\(outside))"
  private static let outside = "Task {}, Task.detached, the main actor"
  private static let maximumJobs = 300_000
}
