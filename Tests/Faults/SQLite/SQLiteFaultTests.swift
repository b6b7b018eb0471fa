#if SQLite
  import CFaultVFS
  import Foundation
  import ReactorCore
  import ReactorSQLite
  import ReactorTesting
  import TestSupport
  import Testing

  /// One after the other: there is one VFS.
  @Suite(.serialized, .timeLimit(.minutes(5))) enum `SQLite on a disk that fails` {
    static let kinds = [FAULT_VFS_FULL, FAULT_VFS_IO, FAULT_VFS_DENIED]

    /// Calls `body` with the path of a database in a directory that is there.
    static func withFaultyDatabase<Value>(_ body: (String) async throws -> Value) async throws -> Value {
      try #require(fault_vfs_register())
      return try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return try await body(directory.appending(path: "records.sqlite").path(percentEncoded: false))
      }
    }

    static func arm(_ path: String, _ kind: fault_vfs_kind, at call: Int64, persists: Bool) {
      fault_vfs_arm((path as NSString).deletingLastPathComponent, kind, call, persists)
    }

    @Suite struct `whichever call fails` {
      @Test(arguments: kinds.map(\.rawValue), [false, true])
      func `acknowledged records are there and whole, and each error is typed`(
        _ kind: UInt32, _ persists: Bool
      ) async throws {
        let seed = Chance.seed("Faults of SQLite (\(kind), \(persists))")
        var generator = SeededGenerator(seed: seed)
        // In a row of runs, every call.
        let stride = Int64(Chance.count("REACTOR_FAULT_STRIDE", default: 32, thorough: 8))
        var call = Int64.random(in: 1...stride, using: &generator)
        var failed: Set<String> = []
        while let name = try await failing(fault_vfs_kind(rawValue: kind), at: call, persists) {
          failed.insert(name)
          call += stride
        }
        #expect(call > 200)
        let all: Set = ["open", "read", "write", "truncate", "sync", "delete", "access", "lock", "map"]
        #expect(stride > 1 || failed.isSuperset(of: all))
      }

      /// SQLite says SQLITE_CORRUPT where read(2) says EIO.
      @Test func `a read that fails leaves the database in its place`() async throws {
        var call: Int64 = 1
        while try await failing(FAULT_VFS_BAD_READ, at: call, false) != nil { call += 16 }
      }

      /// - Returns: the call's name; `nil` where there are not so many.
      private func failing(_ kind: fault_vfs_kind, at call: Int64, _ persists: Bool) async throws -> String? {
        try await withFaultyDatabase { path in
          let open = { try SQLitePersistence(path: path, synchronization: .full) }
          var ledger = Ledger { $0 is SQLitePersistenceError }
          arm(path, kind, at: call, persists: persists)
          await ledger.use(open)
          let (count, name) = (fault_vfs_count(), String(cString: fault_vfs_failed()))
          fault_vfs_disarm()
          await ledger.settle(isStrict: true, open)
          #expect(ledger.faults.isEmpty, "call \(call), \(name)")
          // The next start may find a write that was not synchronized.
          #expect(ledger.revived.isEmpty || name == "sync", "call \(call), \(name)")
          let checked = try integrity(of: path)
          #expect(checked == ["ok"], "call \(call), \(name)")
          #expect(setAside(path).isEmpty, "call \(call), \(name)")
          return count >= call ? name : nil
        }
      }
    }

    @Suite struct `a power cut` {
      /// In a test the program continues; what it still has open must not change what the next
      /// start finds.
      @Test(arguments: 0..<16) func `a power cut ends open files, even if they are closed later`(_ seed: UInt64)
        async throws
      {
        try await withFaultyDatabase { path in
          let written = (1...2).map { WrittenRecord(number: 3, version: $0) }
          let next = WrittenRecord(number: 4, version: 1)
          arm(path, FAULT_VFS_POWER_CUT, at: .max, persists: true)
          var old: SQLitePersistence? = try SQLitePersistence(path: path, synchronization: .full)
          for record in written { try await old?.save(record.record, for: record.key) }
          fault_vfs_cut_power(seed)
          let before = try contents(path)
          await #expect(throws: SQLitePersistenceError.self) { try await old?.save(next.record, for: next.key) }
          old = nil
          #expect(try contents(path) == before)
          let new = try SQLitePersistence(path: path, synchronization: .full)
          #expect(try await new.load(next.key) == nil)
          #expect(try await new.load(written[1].key) == written[1].record)
        }
      }

      private func contents(_ path: String) throws -> [Data?] {
        ["", "-wal"].map { FileManager.default.contents(atPath: path + $0) }
      }

      @Test(arguments: [SQLitePersistence.Synchronization.normal, .full])
      func `a power cut corrupts nothing, and loses nothing that was synchronized`(
        _ synchronization: SQLitePersistence.Synchronization
      ) async throws {
        let seed = Chance.seed("Power cut (\(synchronization))")
        var generator = SeededGenerator(seed: seed)
        var (acknowledged, cuts) = (0, 0)
        let all = Chance.count("REACTOR_CUTS", default: 60, thorough: 200)
        while cuts < all {
          // The same database, up to five times.
          try await withFaultyDatabase { path in
            let open = { try SQLitePersistence(path: path, synchronization: synchronization) }
            var ledger = Ledger { $0 is SQLitePersistenceError }
            for _ in 0..<Int.random(in: 1...5, using: &generator) {
              arm(path, FAULT_VFS_POWER_CUT, at: .random(in: 1...600, using: &generator), persists: true)
              await ledger.use(open)
              fault_vfs_cut_power(generator.next())
              await ledger.settle(isStrict: synchronization == .full, open)
              #expect(ledger.faults.isEmpty, "cut \(cuts), REACTOR_SEED=\(seed)")
              let checked = try integrity(of: path)
              #expect(checked == ["ok"], "cut \(cuts), REACTOR_SEED=\(seed)")
              #expect(setAside(path).isEmpty, "cut \(cuts), REACTOR_SEED=\(seed)")
              cuts += 1
            }
            acknowledged += ledger.acknowledged
          }
        }
        #expect(acknowledged > cuts)
      }
    }
  }
#endif
