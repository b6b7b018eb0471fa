import ArgumentParser
import Foundation
import Synchronization

/// Measures Reactor beside code that does the same work by hand.
@main struct ReactorBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reactor-bench", abstract: "Measures Reactor beside code that does the same work by hand.",
    subcommands: [Measure.self, Compare.self], defaultSubcommand: Measure.self)
}

struct Measure: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures, and prints a table.")

  @Option(help: "Only the jobs whose names begin with this; separate several with commas.") var filter: String?
  @Option(help: "Only the figures whose name contains this.") var figure: String?
  @Flag(help: "Print the names of the jobs.") var list = false
  @Flag(help: "Fewer rounds, for a first look.") var quick = false
  @Option(help: "For a profiler: run only the jobs, each for this many seconds.") var alone: Double?
  @Flag(help: "Also measure how each cost grows.") var growth = false
  @Option(help: "Write all measurements to this file.") var json: String?
  @Option(help: "Draw growth.svg, and rivals.svg if they were measured, into this directory.") var svg: String?

  private var chosen: [any Benchmark.Type] {
    let words = filter?.split(separator: ",").map(String.init)
    return benchmarks.filter { benchmark in words?.contains { benchmark.name.hasPrefix($0) } ?? true }
  }

  func run() throws {
    if list {
      for benchmark in chosen { print("\(benchmark.name): \(benchmark.question)") }
    } else {
      try Self.awaiting { try await measure() }
    }
  }

  /// Keeps the main thread, which serves the main actor: valgrind 3.19 ends where dispatch has
  /// taken that thread away.
  private static func awaiting(_ work: @escaping @Sendable () async throws -> Void) throws {
    let outcome = Mutex<Result<Void, any Error>?>(nil)
    Task.detached {
      let result: Result<Void, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
    }
    // Without one a run loop does not wait.
    RunLoop.main.add(Timer(timeInterval: 3_600, repeats: true) { _ in }, forMode: .default)
    while true {
      if let result = outcome.withLock(\.self) { return try result.get() }
      _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.1))
    }
  }

  /// Off the main thread, where a program's work runs.
  @concurrent private func measure() async throws {
    let machine = Machine.this()
    print("\(machine.line)\n\n\(Table.head)")
    var settings = quick ? .quick : Bench.Settings()
    settings.figure = figure
    settings.alone = alone.map { .seconds($0) }
    let bench = Bench(settings) { figure in
      print(Table.line(figure))
      fflush(nil)
    }
    for benchmark in chosen {
      bench.benchmark = benchmark.name
      try await benchmark.measure(bench)
    }
    let curves = try await growth || svg != nil ? measureGrowth(bench) : []
    try svg.map { path in
      let directory = URL(filePath: path, directoryHint: .isDirectory)
      let rivals = RivalsPicture(bench.figures, on: machine)
      if !rivals.figures.isEmpty { try Data(rivals.svg.utf8).write(to: directory.appending(path: "rivals.svg")) }
      guard !curves.isEmpty else { return }
      try Data(GrowthPicture(curves: curves, machine: machine).svg.utf8).write(
        to: directory.appending(path: "growth.svg"))
    }
    try json.map { try Run(machine: machine, figures: bench.figures, curves: curves).write(to: $0) }
  }

  private func measureGrowth(_ bench: Bench) async throws -> [Curve] {
    let growth = Growth(bench)
    for benchmark in chosen {
      growth.benchmark = benchmark.name
      try await benchmark.grow(growth)
    }
    return growth.curves
  }
}

struct Compare: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Compares two files that --json wrote.")

  @Argument(help: "The earlier run.") var before: String
  @Argument(help: "The later run.") var after: String

  func run() throws {
    for line in Comparison(old: try Run(contentsOf: before), new: try Run(contentsOf: after)).lines { print(line) }
  }
}
