#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `Opening an SQLite database` {
    private let time = Time()

    @Test(arguments: [(SQLitePersistence.Synchronization.normal, 1), (.full, 2)])
    func `synchronous is what was requested, in WAL mode`(
      _ synchronization: SQLitePersistence.Synchronization, _ level: Int
    ) async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path, synchronization: synchronization)
        for _ in 0..<2 {
          let names = ["synchronous", "journal_mode", "secure_delete"]
          let values = try persistence.database.manage { db in try names.map { try pragma($0, db) } }
          #expect(values == ["\(level)", "wal", "1"])
          // The same holds for the database that replaces it.
          try FileManager.default.removeItem(atPath: path)
          try await persistence.save(.sample(.sample()), for: .sample())
        }
      }
    }

    @Test func `a database of the first release becomes this one's, with its records`() async throws {
      try await withDatabase { path in
        let keys = (0..<5).map { RecordKey.sample("\($0)", scope: "alice") }
        try makeFirstVersion(path, keys)
        let persistence = try SQLitePersistence(path: path)
        for key in keys { #expect(try await persistence.load(key) == .sample(key)) }
        #expect(try await persistence.entries(in: "alice", url: nil).count == 5)
        #expect(
          try numbers(path, "SELECT bytes, count FROM reactor_usage")
            == numbers(path, "SELECT sum(size), 5 FROM reactor_record"))
        #expect(try numbers(path, "SELECT count(*) FROM reactor_record WHERE used_at = 2 AND fresh_until = 2") == [5])
        try await persistence.removeAll(in: "alice")
        #expect(try numbers(path, "SELECT bytes, count FROM reactor_usage") == [0, 0])
        #expect(try await persistence.verify() == [])
      }
    }

    @Test func `a hundred thousand records are opened and used without reading them all`() async throws {
      try await withDatabase { path in
        _ = try SQLitePersistence(path: path)
        try change(
          path,
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
          INSERT INTO reactor_record (digest, scope, url, fetched_at, fresh_until, used_at, size, head, body)
            SELECT printf('%064x', i), x'', 'https://api.example.com/' || i, i, i, i, 300, zeroblob(100), zeroblob(200)
            FROM n
          """)
        let persistence = try SQLitePersistence(path: path, countLimit: 100_100)
        let key = RecordKey.sample()
        try await persistence.save(.sample(key), for: key)
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try persistence.database.inspect(SQLiteEviction.usage).count == 100_001)
        // Of some ten thousand.
        #expect(try pagesRead(persistence) < 100)
      }
    }

    @Test func `verify names what is corrupt, and compact gives space back`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path, now: { [time] in time.now })
        let keys = (0..<500).map { RecordKey.sample("\($0)") }
        for key in keys { try await persistence.save(.sample(key, at: time.now), for: key) }
        #expect(try await persistence.verify() == [])
        try change(path, "UPDATE reactor_record SET body = x'00' WHERE digest = '\(keys[3].digest)'")
        try change(path, "UPDATE reactor_record SET size = 5 WHERE digest = '\(keys[4].digest)'")
        #expect(
          Set(try await persistence.verify()) == [
            Record.Defect(place: keys[3].digest, reason: "\(Record.Failure.truncated)"),
            Record.Defect(
              place: keys[4].digest, reason: "\(Record.Failure.corrupt("its size differs from the one in the table"))"),
          ])
        for key in keys.dropFirst(5) { try await persistence.remove(key) }
        try checkpoint(path)
        let before = try size(path)
        try await persistence.compact()
        #expect(try size(path) < before / 4)
        #expect(try size(path + "-wal") == 0)
        #expect(try await persistence.load(keys[0]) == .sample(keys[0], at: time.now))
      }
    }

    @Test func `verify finds a broken page`() async throws {
      try await withDatabase { path in
        do {
          let persistence = try SQLitePersistence(path: path, now: { [time] in time.now })
          for number in 0..<500 {
            let key = RecordKey.sample("\(number)")
            try await persistence.save(.sample(key, at: time.now), for: key)
          }
        }
        let persistence = try SQLitePersistence(path: path)
        try overwrite(path, at: 40 * 4_096, with: Data(repeating: 0xEE, count: 4_096))
        let defects = try await persistence.verify()
        #expect(defects.contains { $0.place == path }, "\(defects)")
      }
    }
  }
#endif
