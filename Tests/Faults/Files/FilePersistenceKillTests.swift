#if os(macOS) || os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import ReactorCore

  @Suite struct `File persistence in a process that is killed` {
    @Test func `acknowledged records are there, and no record is torn`() async throws {
      try await withTemporaryDirectory { directory in
        let seed = Chance.seed("Killed file persistence")
        let trial = KillTrial(.files, path: directory.path(percentEncoded: false), seed: seed)
        let outcome = try await trial.run(kills: Chance.count("REACTOR_KILLS", default: 60, thorough: 300)) {
          FilePersistence(directory: directory)
        }
        #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed)")
        #expect(outcome.acknowledged > outcome.kills)
        try await FilePersistence(directory: directory).save(.sample(.sample()), for: .sample())
        #expect(files(in: directory, suffix: ".temporary").isEmpty)
      }
    }

    @Test func `other processes that write to the directory of a killed one continue, and lose nothing`() async throws {
      try await withTemporaryDirectory { directory in
        let seed = Chance.seed("Killed file persistence in company")
        let trial = CompanyTrial(.files, path: directory.path(percentEncoded: false), seed: seed)
        let kills = Chance.count("REACTOR_KILLS", default: 8, thorough: 20)
        let outcome = try await trial.run(kills: kills) { FilePersistence(directory: directory) }
        #expect(outcome.faults.isEmpty, "REACTOR_SEED=\(seed)")
        #expect(outcome.acknowledged.allSatisfy { $0 > kills })
        print("Files in company: \(outcome.acknowledged) saves, \(kills) kills")
      }
    }
  }
#endif
