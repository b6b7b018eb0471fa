import CMeasuring

/// Does something so many times.
typealias Work = (_ iterations: Int) async throws -> Void

/// Measures a job beside its baseline, and collects the figures.
///
/// A round is job, baseline, baseline, job; the next is the other way round. So a temporary
/// slowdown of the machine slows both, and each round gives one ratio. A figure is the median of
/// the rounds.
final class Bench {
  struct Settings {
    /// The time that one side runs before the other has its turn.
    var turn: Duration = .milliseconds(3)
    /// The most time that the rounds of one figure may take.
    var budget: Duration = .seconds(3)
    var rounds = 9...151
    /// Set for a profiler: only the jobs run, each for so long, and nothing is compared.
    var alone: Duration?
    /// Set where only figures whose name contains it are wanted.
    var figure: String?

    static let quick = Settings(turn: .milliseconds(1), budget: .milliseconds(500), rounds: 5...51)
  }

  let settings: Settings
  private(set) var figures: [Figure] = []
  /// The name of the running benchmark.
  var benchmark = ""
  /// Called with each figure as it comes.
  private let report: (Figure) -> Void
  private var madeStore: LargeStore?

  init(_ settings: Settings, report: @escaping (Figure) -> Void) {
    self.settings = settings
    self.report = report
  }

  /// - Parameters:
  ///   - clock: the elapsed time, where it waits.
  ///   - processors: on how many it runs. What does not ask for two is measured on one, where
  ///     nothing moves it.
  ///   - operations: how many an iteration of the job, and of the limit, stands for: the figure is
  ///     for one.
  func compare(
    _ name: String, to baselineName: String, target: Target?, clock: Stopwatch = .processor, processors: Int = 1,
    operations: (job: Int, limit: Int) = (1, 1), job: Work, limit: Work
  ) async throws {
    guard settings.figure.map(name.contains) ?? true else { return }
    _ = measuring_use_processors(Int32(processors))
    let jobCount = try await calibrated(job)
    if let alone = settings.alone { return try await run(job, jobCount, for: alone, as: name) }
    let limitCount = try await calibrated(limit)
    var (values, baselines, ratios, differences) = ([Double](), [Double](), [Double](), [Double]())
    let deadline = ContinuousClock.now + settings.budget
    while ratios.count < settings.rounds.lowerBound
      || (ratios.count < settings.rounds.upperBound && ContinuousClock.now < deadline)
    {
      let isReversed = ratios.count % 2 == 1
      var (times, limits) = ([Double](), [Double]())
      for isLimit in isReversed ? [true, false, false, true] : [false, true, true, false] {
        if isLimit {
          limits.append(try await time(limit, limitCount, clock) / Double(operations.limit))
        } else {
          times.append(try await time(job, jobCount, clock) / Double(operations.job))
        }
      }
      values += times
      baselines += limits
      let (value, baseline) = ((times[0] + times[1]) / 2, (limits[0] + limits[1]) / 2)
      ratios.append(value / baseline)
      differences.append(value - baseline)
    }
    add(
      Figure(
        benchmark: benchmark, name: name, baselineName: baselineName, unit: .nanoseconds, clock: clock,
        value: values.median,
        baseline: baselines.median, ratio: ratios.median,
        spread: Figure.Spread(low: ratios.quantile(0.25), high: ratios.quantile(0.75)),
        difference: differences.median,
        allocations: try await allocations(job, jobCount, operations.job),
        baselineAllocations: try await allocations(limit, limitCount, operations.limit), rounds: ratios.count,
        target: target))
  }

  /// A store of 100,000 records, created once, since that takes a while.
  func largeStore() async throws -> LargeStore {
    if let madeStore { return madeStore }
    let store = try await LargeStore(100_000)
    madeStore = store
    return store
  }

  func add(_ figure: Figure) {
    figures.append(figure)
    report(figure)
  }

  /// Nanoseconds for one of `count` iterations.
  func time(_ work: Work, _ count: Int, _ clock: Stopwatch) async throws -> Double {
    let began = clock.now
    try await work(count)
    return (clock.now - began) / Double(count)
  }

  /// Returns the number of iterations that fill a turn. It warms up the caches of `work` too.
  func calibrated(_ work: Work) async throws -> Int {
    var count = 1
    try await work(count)
    while true {
      let taken = try await time(work, count, .elapsed) * Double(count)
      let turn = settings.turn / .nanoseconds(1)
      if taken >= turn / 2 { return max(1, Int(Double(count) * turn / taken)) }
      count = min(count * 10, max(count * 2, Int(Double(count) * turn / max(taken, 1))))
    }
  }

  private func run(_ job: Work, _ count: Int, for duration: Duration, as name: String) async throws {
    let (deadline, began) = (ContinuousClock.now + duration, Stopwatch.processor.now)
    var done = 0
    while ContinuousClock.now < deadline {
      try await job(count)
      done += count
    }
    let cost = (Stopwatch.processor.now - began) / Double(done)
    print("\(name): \(Table.quantity(cost, .nanoseconds)) for one of \(done)")
  }

  private func allocations(_ work: Work, _ count: Int, _ operations: Int) async throws -> Double? {
    guard measuring_counts_allocations() else { return nil }
    let count = min(count, 1_000)
    measuring_begin()
    try await work(count)
    return Double(measuring_end().count) / Double(count * operations)
  }
}

/// A job did not do its work.
struct Unexpected: Error, CustomStringConvertible {
  let description: String
}

func expect(_ condition: Bool, _ what: String) throws {
  guard condition else { throw Unexpected(description: "a check of the benchmark failed: \(what)") }
}
