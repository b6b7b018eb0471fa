import Foundation
import ReactorConformance
import ReactorTesting
import TestSupport
import Testing

/// The library beside a simple model of what may be seen, in worlds that go wrong as their seeds
/// have it: a few of them. `make test-simulation` runs a thousand seeds of each world with the
/// program `Simulate`, and `make simulate` as many as you like, optimized.
///
/// Here, too, that program runs them. A child process holds the locks of its parent's files until
/// it runs its program, and other tests start many.
@Suite("The library beside its model", .timeLimit(.minutes(10)))
struct ReferenceModelTests {
  /// Of each world.
  static let count = Chance.count("REACTOR_SEEDS", default: 20, thorough: 40)

  @Test(arguments: World.allCases)
  func `whatever users, network and disk do, no user sees a forbidden value`(world: World) async throws {
    try await run(Simulation.seeds(Self.count), world)
  }

  /// Defects that these seeds found: a removal that returned without removing (500372), a write
  /// that was lost with a failed sign-out (504243), a request of a superseded flight (100886), a
  /// response in flight while its resource changed, read from disk as fresh (31172449), a wrong
  /// variant, since a local write had lost its number, and a response that gave way to a record
  /// that gave way to an older write (18643), a flight that waited for its turn at the disk for
  /// ever, since the step that shared it had given up (34618), a stale copy after the clock was set
  /// back (4100086883), a page of another chain that arrived at the same moment (3189078), a user's
  /// response on one server of a fleet after a change through another (58), such a response kept
  /// although no message could name it yet (600424), a response that was overtaken by a look-up of
  /// its own record (147, 302946, 303367, 404429), and checks of the model that were too strict.
  @Test(arguments: World.allCases)
  func `seeds that failed once pass`(world: World) async throws {
    let seeds: [UInt64] = [
      18_643, 34_618, 100_886, 500_372, 504_243, 1_005_974, 2_004_683, 2_017_796, 3_002_257, 31_038_704, 31_172_449,
      7, 66, 2080, 2104, 3133, 3241, 4328, 6842, 500_002, 900_004, 900_570, 901_422, 902_881, 31_001_258,
      31_003_226, 500_377, 123_000_547, 123_001_282, 123_009_635,
      4_100_007_055, 4_100_041_301, 4_100_075_966, 4_100_086_883, 4_100_187_259,
      3068, 3_189_078,
      58, 147, 302_946, 303_367, 404_429, 600_424,
    ]
    try await run(seeds, world)
  }

  /// Defects that these seeds found: an entry that overtook another process's entry in its lane
  /// (51173, 53632), a removal whose entries counted as finished by another process (3068), a
  /// failed removal that hid drafts (52479), a temporary id that was sent (50432), a submission
  /// that was reported after its removal (202941, 205305), an entry that was sent though its lease
  /// had expired while it was prepared (1000520, 1001029, 1004003), an entry that was withdrawn
  /// after another process had sent it (1015517), drafts that got an item's real id one after the
  /// other (1000324), a removed entry that came back with its lease (1001536), a tag that was newer
  /// than its value (1008669), an outcome that was saved late over a newer state (2004626,
  /// 2019298), a draft that came back after everything was removed (2004639), an entry of a type
  /// that this program does not list, which it read while it saved it (2334843), an accepted draft
  /// that was applied again over a newer record (2354466), an entry that got an item's real id
  /// before the entry that supplies it (6074852), a withdrawal of an entry that another process had
  /// finished (7117868), a doubt that a retry removed (7023275), an entry that supplies an id
  /// mistaken for an entry that waits for it (7005214, 7016128, 7042109, 7163831), a 304 for
  /// another version (7238439), a value and a tag of two responses (7185736, 7247919), an id
  /// attributed to an entry that was gone (8002761), a retry that moved the following entries along
  /// (8071656), an accepted draft that was read during a removal (8163412), an entry whose lease
  /// expired with the removal of others (8981875894311099508), a withdrawn entry that came back
  /// with another's changes (400248334), a tag of a value that has a later write too (400279427),
  /// and checks of the model that were too strict.
  @Test func `seeds of the outbox world that failed once pass`() async throws {
    let seeds: [UInt64] = [
      3068, 50_432, 50_603, 51_173, 51_404, 51_416, 52_479, 52_826, 53_632, 201_746, 202_941, 205_229, 205_305,
      1_000_520, 1_001_029, 1_004_003, 1_005_209, 1_015_517, 1_000_324, 1_001_536, 1_001_551, 1_002_712, 1_008_669,
      1_009_330, 1_009_516, 1_009_543, 2_004_626, 2_004_639, 2_004_722, 2_009_330, 2_010_062, 2_015_507, 2_016_502,
      2_019_298, 2_113_078, 2_115_775, 2_334_843, 2_346_754, 2_351_473, 2_353_664, 2_354_466,
      6_014_051, 6_014_857, 6_021_037, 6_053_930, 6_074_852, 7_019_926, 7_046_594,
      7_005_214, 7_016_128, 7_023_275, 7_042_109, 7_117_868, 7_146_125, 7_163_831, 7_185_736, 7_230_221, 7_238_439,
      7_245_467, 7_247_919, 7_276_007, 8_002_761, 8_071_656, 8_163_412,
      8_981_875_894_311_099_508, 400_190_456, 400_231_074, 400_248_334, 400_279_427, 410_142_081,
    ]
    try await run(seeds, .outbox)
  }

  /// Each process has its own hash seed, which would expose an iteration over a set.
  @Test(arguments: World.allCases)
  func `one seed is one order, of the whole library, in each process`(world: World) async throws {
    for seed in 1...UInt64(Chance.count("REACTOR_ORDERS", default: 8, thorough: 8)) {
      let logs = [try await log(seed, world), try await log(seed, world)]
      #expect(logs[0].count > 5)
      #expect(difference(logs[0], logs[1]) == nil, "seed \(seed)")
    }
  }

  private func log(_ seed: UInt64, _ world: World) async throws -> [String] {
    let lines = try await Program("Simulate").output("log", "\(world)", "\(seed)")
    return lines.split(separator: "\n").map(String.init)
  }

  private func run(_ seeds: [UInt64], _ world: World, at location: SourceLocation = #_sourceLocation) async throws {
    let output = try await Program("Simulate").output(["seeds", "\(world)"] + seeds.map { "\($0)" })
    if output != "\(seeds.count) seeds have passed\n" { Issue.record("\(output)", sourceLocation: location) }
  }

  /// Returns the first difference of two logs.
  private func difference(_ a: [String], _ b: [String]) -> String? {
    if let (one, other) = zip(a, b).first(where: { $0 != $1 }) { return "\(one) | \(other)" }
    return a.count == b.count ? nil : "\(a.count) lines | \(b.count) lines"
  }
}
