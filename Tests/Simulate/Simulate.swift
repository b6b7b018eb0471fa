import Foundation
import ReactorConformance
import ReactorTesting
import TestSupport

/// The long run of the simulation: `make simulate SEEDS=1000000`. Every world, each seed once, on
/// all processors.
///
/// Every tenth seed runs twice more, and its two logs must be the same: what iterates over a
/// dictionary resumes tasks in another order each time.
///
/// `Simulate log <world> <seed>` prints what happens in one, and `Simulate seeds <world> <seed>…`
/// the first failure of some. `Simulate survey <world> <count>` goes on after a failure, and prints
/// the first line of each.
@main enum Simulate {
  static func main() async {
    let arguments = CommandLine.arguments.dropFirst()
    if arguments.first == "log", let world = arguments.dropFirst().first.flatMap(World.init),
      let seed = arguments.last.flatMap(UInt64.init)
    {
      return print(await Simulation.log(seed: seed, world.body).joined(separator: "\n"))
    }
    if arguments.first == "seeds", let world = arguments.dropFirst().first.flatMap(World.init) {
      let report = await Simulation.explore(seeds: arguments.dropFirst(2).compactMap(UInt64.init), world.body)
      return print(report.failure ?? "\(report.seeds) seeds have passed")
    }
    if arguments.first == "survey", let world = arguments.dropFirst().first.flatMap(World.init),
      let count = arguments.last.flatMap(Int.init)
    {
      return await survey(world, Simulation.seeds(count))
    }
    guard arguments.count <= 1, let count = Int(arguments.first ?? "10000"), count > 0 else {
      let worlds = World.allCases.map(\.rawValue).joined(separator: ", ")
      FileHandle.standardError.write(
        Data(
          """
          usage: Simulate [seeds] | Simulate log <world> <seed> | Simulate seeds <world> <seed>… | Simulate survey <world> <seeds>
          worlds: \(worlds)

          """.utf8))
      exit(64)
    }
    let seeds = Simulation.seeds(count)
    let bar = ProgressBar(of: count * World.allCases.count)
    print("\(count) seeds from \(seeds.first ?? 0), in \(World.allCases.count) worlds")
    var failures: [String] = []
    for world in World.allCases {
      let reports = await explore(world, seeds, bar)
      bar.clear()
      let (ran, steps) = (reports.map(\.seeds).reduce(0, +), reports.map(\.steps).reduce(0, +))
      let differences = await differences(world, seeds.filter { $0 % 10 == 0 })
      let failed = reports.filter { $0.failed != nil }.count + differences.count
      print("\(world): \(ran) seeds, \(steps) steps, \(failed) failed")
      failures += reports.compactMap(\.failure).map { "\(world): \($0)" } + differences
    }
    print("\(bar.rate) seeds a second")
    for failure in failures { print(failure) }
    exit(failures.isEmpty ? 0 : 1)
  }

  private static func survey(_ world: World, _ seeds: [UInt64]) async {
    let workers = ProcessInfo.processInfo.activeProcessorCount
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<workers {
        group.addTask {
          for index in stride(from: worker, to: seeds.count, by: workers) {
            let report = await Simulation.explore(seeds: [seeds[index]], world.body)
            if let line = report.failure?.split(separator: "\n").first { print(line) }
          }
        }
      }
    }
  }

  private static func explore(_ world: World, _ seeds: [UInt64], _ bar: ProgressBar) async -> [Simulation.Report] {
    let workers = ProcessInfo.processInfo.activeProcessorCount
    return await withTaskGroup(of: Simulation.Report.self) { group in
      for worker in 0..<workers {
        group.addTask {
          let own = stride(from: worker, to: seeds.count, by: workers).map { seeds[$0] }
          return await Simulation.explore(seeds: own, world.body) { _ in
            bar.advance()
            return true
          }
        }
      }
      var reports: [Simulation.Report] = []
      for await report in group { reports.append(report) }
      return reports
    }
  }

  /// Runs each seed twice. Returns what the logs of the first few differ in.
  private static func differences(_ world: World, _ seeds: [UInt64]) async -> [String] {
    let workers = ProcessInfo.processInfo.activeProcessorCount
    return await withTaskGroup(of: [String].self) { group in
      for worker in 0..<workers {
        group.addTask {
          var found: [String] = []
          for index in stride(from: worker, to: seeds.count, by: workers) where found.count < 3 {
            let seed = seeds[index]
            let first = await Simulation.log(seed: seed, world.body)
            let second = await Simulation.log(seed: seed, world.body)
            guard first != second else { continue }
            let lines = zip(first, second).first { $0 != $1 } ?? ("\(first.count) lines", "\(second.count) lines")
            found.append("\(world): seed \(seed) has two orders: \(lines.0) | \(lines.1)")
          }
          return found
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
  }
}
