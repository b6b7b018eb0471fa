import Foundation
public import Testing

/// Runs a concurrent program many times, each time in an order and with faults that a seed settles.
///
/// ```swift
/// await Simulation.run(seeds: Simulation.seeds(1_000)) { world in
///   world.network.serve { request, _ in (HTTPResponse(status: .ok), Data("1".utf8)) }
///   let layer = ModelLayer(
///     baseURL: api, transport: world.network, persistence: world.disk.open(), reachability: world.reachability,
///     configuration: world.configuration)
///   let numbers = layer.reactor(Int.self)
///   await world.users(3, steps: 1...10) { user in
///     let number = try await user.impatiently(in: world) { try? await numbers.fetch("number") }
///     world.check(number == nil || number == 1, "\(number) is not what the server said")
///   }
/// }
/// ```
///
/// One seed is one order of all jobs, one network, one disk: the same seed runs the same each time. A failure is an issue with its
/// seed, few steps that still fail, and the log; `REACTOR_SEED=<seed>` begins with it.
///
/// What is run so: code that is not isolated, actors, `@concurrent` functions, task groups and `async let`, and what the library begins. What
/// escapes: `Task {}`, `Task.detached` and the main actor. One that comes back into the simulation fails it, since it could not be run again.
public enum Simulation {
  /// What some seeds have shown.
  public struct Report: Sendable {
    /// How many ran, the failing one included.
    public var seeds = 0
    /// The steps that their users took.
    public var steps = 0
    /// The seed that failed; `nil` where none did.
    public var failed: UInt64?
    /// What failed, with few steps that still do and their log.
    public var failure: String?
  }

  /// So many seeds, from `REACTOR_SEED`, or from one that is another each time.
  public static func seeds(_ count: Int) -> [UInt64] {
    let first = ProcessInfo.processInfo.environment["REACTOR_SEED"].flatMap(UInt64.init) ?? .random(in: 0...(.max / 2))
    return (0..<UInt64(max(0, count))).map { first &+ $0 }
  }

  /// Runs `body` in a world for each seed, up to the first that fails, which is recorded as an issue.
  ///
  /// Each run has one thread of its own, and time that passes when nothing else can happen. A run fails when `body` throws, when
  /// ``SimulatedWorld/check(_:_:)`` finds a promise broken, when nothing can go on, and when there is no end.
  @discardableResult
  public static func run(
    seeds: some Sequence<UInt64>, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
  ) async -> Report {
    let report = await explore(seeds: seeds, body)
    if let failure = report.failure { Issue.record("\(failure)", sourceLocation: sourceLocation) }
    return report
  }

  /// The same outside of a test: a failure is told in the report alone.
  ///
  /// - Parameter progress: called after each seed; `false` ends it.
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

  /// The log of one seed: the same each time.
  public static func log(
    seed: UInt64, _ body: @escaping @Sendable (SimulatedWorld) async throws -> Void
  ) async -> [String] {
    await SimulationRun.of(seed, keepsTrace: true, body).trace
  }
}
