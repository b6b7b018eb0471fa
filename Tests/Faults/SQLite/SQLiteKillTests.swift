#if SQLite && (os(macOS) || os(Linux))
  import Foundation
  import ReactorCore
  import ReactorSQLite
  import TestSupport
  import Testing

  @Suite struct `SQLite in a process that is killed` {
    @Test(arguments: [(WriterEngine.sqlite, 300), (.sqliteFull, 50)])
    func `acknowledged records are there, and no record is torn`(_ engine: WriterEngine, _ kills: Int) async throws {
      try await withTemporaryDirectory { directory in
        let seed = Chance.seed("Killed SQLite persistence (\(engine))")
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        let trial = KillTrial(engine, path: path, seed: seed)
        let outcome = try await trial.run(kills: Chance.count("REACTOR_KILLS", default: kills / 4, thorough: kills)) {
          try SQLitePersistence(path: path, synchronization: engine == .sqlite ? .normal : .full)
        }
        #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed)")
        #expect(outcome.acknowledged > outcome.kills)
      }
    }

    @Test func `other processes that write to the file of a killed one continue, and lose nothing`() async throws {
      try await withTemporaryDirectory { directory in
        let seed = Chance.seed("Killed SQLite persistence in company")
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        let trial = CompanyTrial(.sqlite, path: path, seed: seed)
        let kills = Chance.count("REACTOR_KILLS", default: 8, thorough: 20)
        let outcome = try await trial.run(kills: kills) { try SQLitePersistence(path: path) }
        #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed)")
        #expect(outcome.acknowledged.allSatisfy { $0 > kills })
        print("SQLite in company: \(outcome.acknowledged) saves, \(kills) kills")
      }
    }
  }
#endif
