#if SQLite
  import CFaultVFS
  import Foundation
  import HTTPCaching
  import ReactorOutbox
  import ReactorSQLite
  import ReactorTesting
  import TestSupport
  import Testing

  extension `SQLite on a disk that fails` {
    @Suite struct `an outbox` {
      private static func isTyped(_ error: any Error) -> Bool {
        error is SQLitePersistenceError || error is OutboxStorageError
      }

      @Test(arguments: [FAULT_VFS_FULL, FAULT_VFS_IO, FAULT_VFS_BAD_READ].map(\.rawValue), [false, true])
      func `whichever call fails, each commit is there whole or not at all`(
        _ kind: UInt32, _ persists: Bool
      ) async throws {
        // A read that fails for ever is damage to SQLite.
        if kind == FAULT_VFS_BAD_READ.rawValue, persists { return }
        let seed = Chance.seed("Faults of an outbox in SQLite (\(kind), \(persists))")
        var generator = SeededGenerator(seed: seed)
        let stride = Int64(Chance.count("REACTOR_FAULT_STRIDE", default: 32, thorough: 8))
        var call = Int64.random(in: 1...stride, using: &generator)
        while try await failing(fault_vfs_kind(rawValue: kind), at: call, persists) { call += stride }
        #expect(call > 100)
      }

      /// - Returns: `false` if there are not so many calls.
      private func failing(_ kind: fault_vfs_kind, at call: Int64, _ persists: Bool) async throws -> Bool {
        try await `SQLite on a disk that fails`.withFaultyDatabase { path in
          let open = { try SQLiteOutboxStorage(path: path) }
          var trial = OutboxTrial(isTyped: Self.isTyped)
          `SQLite on a disk that fails`.arm(path, kind, at: call, persists: persists)
          await trial.use(open)
          let (count, name) = (fault_vfs_count(), String(cString: fault_vfs_failed()))
          fault_vfs_disarm()
          await trial.settle(open)
          #expect(trial.faults.isEmpty, "call \(call), \(name)")
          let checked = try integrity(of: path)
          #expect(checked == ["ok"], "call \(call), \(name)")
          return count >= call
        }
      }

      @Test(arguments: [FAULT_VFS_FULL, FAULT_VFS_IO, FAULT_VFS_BAD_READ].map(\.rawValue), [false, true])
      func `whichever call fails while a damaged database is replaced, no row is lost that can be read`(
        _ kind: UInt32, _ persists: Bool
      ) async throws {
        // A read that fails for ever is damage to SQLite.
        if kind == FAULT_VFS_BAD_READ.rawValue, persists { return }
        let seed = Chance.seed("Replacing a damaged outbox in SQLite (\(kind), \(persists))")
        var generator = SeededGenerator(seed: seed)
        let stride = Int64(Chance.count("REACTOR_FAULT_STRIDE", default: 32, thorough: 8))
        var call = Int64.random(in: 1...stride, using: &generator)
        while try await replacing(fault_vfs_kind(rawValue: kind), at: call, persists) { call += stride }
        #expect(call > 60)
      }

      /// - Returns: `false` if there are not so many calls.
      private func replacing(_ kind: fault_vfs_kind, at call: Int64, _ persists: Bool) async throws -> Bool {
        try await `SQLite on a disk that fails`.withFaultyDatabase { path in
          let control = path + "-control"
          try await makeDamaged(control)
          try FileManager.default.copyItem(atPath: control, toPath: path)
          let texts = try await Self.texts(control)
          try #require(texts.count > 20 && texts.count < 60)
          `SQLite on a disk that fails`.arm(path, kind, at: call, persists: persists)
          do {
            let found = try await Self.texts(path)
            #expect(found == texts, "call \(call)")
          } catch {
            #expect(Self.isTyped(error), "call \(call), \(error)")
          }
          let (count, name) = (fault_vfs_count(), String(cString: fault_vfs_failed()))
          fault_vfs_disarm()
          let later = try await Self.texts(path)
          #expect(later == texts, "call \(call), \(name)")
          let checked = try integrity(of: path)
          #expect(checked == ["ok"], "call \(call), \(name)")
          return count >= call
        }
      }

      /// Sixty entries, and three pages in their midst that are overwritten.
      private func makeDamaged(_ path: String) async throws {
        do {
          let storage = try SQLiteOutboxStorage(path: path)
          let entries = (0..<60).map {
            StoredEntry(id: UUID(), lane: "main", bytes: Data("\($0) \(String(repeating: "x", count: 500))".utf8))
          }
          _ = try await storage.commit(entries.map { .add($0) }, in: .shared)
        }
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: try file.seekToEnd() / 2 / 4_096 * 4_096)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 3 * 4_096))
        try file.close()
      }

      private static func texts(_ path: String) async throws -> [String] {
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        return contents.entries.map { String(decoding: $0.bytes, as: UTF8.self) }
      }

      @Test func `a power cut takes nothing that was acknowledged, and tears no commit`() async throws {
        let seed = Chance.seed("Power cut of an outbox in SQLite")
        var generator = SeededGenerator(seed: seed)
        var (acknowledged, cuts) = (0, 0)
        while cuts < Chance.count("REACTOR_CUTS", default: 200) {
          try await `SQLite on a disk that fails`.withFaultyDatabase { path in
            let open = { try SQLiteOutboxStorage(path: path) }
            var trial = OutboxTrial(isTyped: Self.isTyped)
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
              `SQLite on a disk that fails`.arm(
                path, FAULT_VFS_POWER_CUT, at: .random(in: 1...400, using: &generator), persists: true)
              await trial.use(open)
              fault_vfs_cut_power(generator.next())
              await trial.settle(open)
              cuts += 1
            }
            #expect(trial.faults.isEmpty, "cut \(cuts), REACTOR_SEED=\(seed)")
            acknowledged += trial.acknowledged
          }
        }
        #expect(acknowledged > cuts)
      }
    }
  }
#endif
