import ArgumentParser
import Foundation

/// What Reactor costs, beside what does the same work by hand.
@main struct ReactorBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reactor-bench", abstract: "What Reactor costs, beside what does the same work by hand.",
    subcommands: [Measure.self, Compare.self], defaultSubcommand: Measure.self)
}

struct Measure: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Measures, and prints a table.")

  @Option(help: "Only the jobs whose name contains this; several, parted by commas.") var filter: String?
  @Flag(help: "Print the jobs' names.") var list = false
  @Flag(help: "Fewer rounds, for a first look.") var quick = false
  @Flag(help: "Measure how each cost grows, too.") var growth = false
  @Option(help: "Write all that was measured to this file.") var json: String?
  @Option(help: "Draw the growth into this directory.") var svg: String?

  private var chosen: [any Benchmark.Type] {
    let words = filter?.split(separator: ",").map(String.init)
    return benchmarks.filter { benchmark in words?.contains { benchmark.name.contains($0) } ?? true }
  }

  func run() async throws {
    if list {
      for benchmark in chosen { print("\(benchmark.name): \(benchmark.question)") }
    } else {
      try await measure()
    }
  }

  /// Off the main thread, where a program's work runs.
  @concurrent private func measure() async throws {
    let machine = Machine.this()
    print("\(machine.line)\n\n\(Table.head)")
    let bench = Bench(quick ? .quick : Bench.Settings()) { figure in
      print(Table.line(figure))
      fflush(nil)
    }
    for benchmark in chosen {
      bench.benchmark = benchmark.name
      try await benchmark.measure(bench)
    }
    let curves = try await growth || svg != nil ? measureGrowth(bench) : []
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
