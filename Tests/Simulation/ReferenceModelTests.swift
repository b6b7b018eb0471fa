import Foundation
import ReactorTesting
import TestSupport
import Testing

/// The library beside a simple model of what may be seen, in worlds that go wrong as their seeds have it.
@Suite("The library beside its model", .timeLimit(.minutes(10)))
struct ReferenceModelTests {
  /// Of each world.
  static let count = ProcessInfo.processInfo.environment["REACTOR_SEEDS"].flatMap(Int.init) ?? 500
  /// The same each time, unless `REACTOR_SEED` is set: others are for `make simulate`.
  static var seeds: [UInt64] {
    let isChosen = ProcessInfo.processInfo.environment["REACTOR_SEED"] != nil
    return isChosen ? Simulation.seeds(count) : (0..<UInt64(count)).map { 2026 + $0 }
  }

  /// What was found once: a request that was sent and told after an invalidation had superseded its flight; a removal that an
  /// invalidation kept from the disk.
  static let regressions: [UInt64] = [100_886, 500_372]

  @Test(arguments: World.allCases)
  func `whatever users, network and disk do, nobody sees what may not be seen`(world: World) async {
    await Simulation.run(seeds: Self.regressions + Self.seeds, world.body)
  }

  @Test(arguments: [UInt64(1), 2, 3, 4, 5])
  func `one seed is one order, of the whole library`(seed: UInt64) async {
    let body = World.households.body
    let logs = [await Simulation.log(seed: seed, body), await Simulation.log(seed: seed, body)]
    #expect(logs[0].count > 10)
    #expect(logs[0] == logs[1])
  }
}
