import Foundation
public import Testing

/// Runs a concurrent program many times. A seed decides the order and the faults of each run.
///
/// ```swift
/// await Simulation.run(seeds: Simulation.seeds(1_000)) { world in
///   world.network.serve { request, _ in (HTTPResponse(status: .ok), Data("1".utf8)) }
///   let layer = ModelLayer(
///     baseURL: api, transport: world.network, persistence: world.disk.open(),
///     reachability: world.reachability, configuration: world.configuration)
///   let numbers = layer.reactor(Int.self)
///   await world.users(3, steps: 1...10) { user in
///     let number = try await user.impatiently(in: world) { try? await numbers.fetch("number") }
///     world.check(number == nil || number == 1, "\(number) is not what the server said")
///   }
/// }
/// ```
///
/// A seed determines the order of all jobs, the network and the disk, so the same seed always gives
/// the same run. A failure is an issue with its seed, a short sequence of steps that still fails,
/// and the log. `REACTOR_SEED=<seed>` starts with that seed.
///
/// The simulation runs code without isolation, actors, `@concurrent` functions, task groups, `async
/// let`, and the tasks of the library. It does not control `Task {}`, `Task.detached` and the main
/// actor. A job that returns from one of them fails the run, since the run could not be repeated.
public enum Simulation {
  /// The result of some seeds.
  public struct Report: Sendable {
    /// The number of seeds that ran, including the failing one.
    public var seeds = 0
    /// The number of steps that the users took in all runs.
    public var steps = 0
    /// The seed that failed; `nil` if none did.
    public var failed: UInt64?
    /// The description of the failure, with a short sequence of steps that still fails, and its
    /// log.
    public var failure: String?
  }

  /// Returns `count` consecutive seeds, from `REACTOR_SEED` if it is set, otherwise from a random
  /// one.
  public static func seeds(_ count: Int) -> [UInt64] {
    let first = ProcessInfo.processInfo.environment["REACTOR_SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max / 2))
    return (0..<UInt64(max(0, count))).map { first &+ $0 }
  }

  /// Runs `body` in a world of each seed, up to the first failure, which is recorded as an issue.
  ///
  /// ```swift
  /// await Simulation.run(seeds: Simulation.seeds(50)) { world in
  ///   await world.users(3, steps: 1...10) { user in
  ///     try await useTheApp(user, in: world)
  ///   }
  /// }
  /// ```
  ///
  /// Each run has its own thread. Its time passes only when nothing else can run. A run fails when
  /// `body` throws, when ``SimulatedWorld/check(_:_:)`` finds a violation, when nothing can
  /// continue, or when the run does not end.
  @discardableResult
  public static func run(
    seeds: some Sequence<UInt64>, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
  ) async -> Report {
    let report = await explore(seeds: seeds, body)
    if let failure = report.failure { Issue.record("\(failure)", sourceLocation: sourceLocation) }
    return report
  }

  /// Runs the seeds outside of a test. Only the report contains the failure.
  ///
  /// ```swift
  /// let report = await Simulation.explore(seeds: 0..<100_000, scenario)
  /// if let seed = report.failed { print(seed, report.failure ?? "") }
  /// ```
  ///
  /// - Parameters:
  ///   - seeds: The seeds to run.
  ///   - body: The program to run in each world.
  ///   - progress: A closure that is called after each seed. Return `false` to stop.
  public static func explore(
    seeds: some Sequence<UInt64>, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void,
    progress: (Report) -> Bool = { _ in true }
  ) async -> Report {
    var report = Report()
    for seed in seeds {
      let run = await SimulationRun.of(seed, body)
      report.seeds += 1
      report.steps += run.steps
      if let failure = run.failure {
        report.failed = seed
        report.failure = await SimulationRun.shortest(seed, run.steps, failure, body)
      }
      if !progress(report) || report.failed != nil { break }
    }
    return report
  }

  /// Returns the log of one seed, which is the same each time.
  public static func log(
    seed: UInt64, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
  ) async -> [String] {
    await SimulationRun.of(seed, keepsTrace: true, body).trace
  }
}
