#if os(macOS) || os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @Suite struct `The changes of a server, where server and client are killed` {
    @Test func `after each kill, the client shows what the server has`() async throws {
      try await withTemporaryDirectory { directory in
        let seed = Chance.seed("Killed servers and clients of changes")
        var trial = LiveKillTrial(in: directory, seed: seed)
        let outcome = try await trial.run(kills: Chance.count("REACTOR_KILLS", default: 8, thorough: 40))
        #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed)")
        #expect(outcome.changes > outcome.kills && outcome.gaps > 0)
        print(
          """
          Killed servers and clients of changes: \(outcome.kills) kills, \(outcome.changes) changes, \
          \(outcome.resumed) streams resumed, \(outcome.gaps) gaps, the same after \(outcome.slowest) at most
          """)
      }
    }
  }
#endif
