#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `The limit of an SQLite database` {
    private let time = Time()
    private let day = 86_400.0

    private func open(_ path: String, limit: Int = 1 << 20, count: Int = 1_000) throws -> SQLitePersistence {
      try SQLitePersistence(path: path, limit: limit, countLimit: count, now: { [time] in time.now })
    }

    private func save(_ names: [String], _ persistence: SQLitePersistence, maxAge: Int = 0) async throws {
      for name in names {
        let key = RecordKey.sample(name)
        try await persistence.save(.sample(key, at: time.now, maxAge: maxAge), for: key)
        time.advance(1)
      }
    }

    private func left(_ persistence: SQLitePersistence) async throws -> Set<String> {
      Set(try await persistence.entries(in: nil, url: nil).map { String($0.key.url.split(separator: "/").last ?? "") })
    }

    @Test func `the least recently used go first, down to seven eighths`() async throws {
      try await withDatabase { path in
        let persistence = try open(path, count: 16)
        try await save((0..<16).map(String.init), persistence)
        time.advance(100)
        // Used, and so the last to go.
        for name in ["0", "1"] { #expect(try await persistence.load(.sample(name)) != nil) }
        try await save(["new"], persistence)
        #expect(try await left(persistence) == Set((5..<16).map(String.init) + ["0", "1", "new"]))
      }
    }

    @Test func `long stale, unused records go before all others`() async throws {
      try await withDatabase { path in
        let persistence = try open(path, count: 8)
        try await save(["fresh for a year, and the oldest"], persistence, maxAge: 365 * Int(day))
        try await save(["stale", "stale too"], persistence)
        time.advance(8 * day)
        try await save((0..<5).map(String.init), persistence)
        try await save(["new"], persistence)
        #expect(
          try await left(persistence) == Set((0..<5).map(String.init) + ["fresh for a year, and the oldest", "new"]))
      }
    }

    @Test func `a time of use that lies ahead counts for nothing`() async throws {
      try await withDatabase { path in
        let persistence = try open(path, count: 8)
        try await save((0..<8).map(String.init), persistence)
        // The clock is set back, and all that was saved seems to be of tomorrow.
        time.advance(-day)
        try await save(["a", "b"], persistence)
        #expect(try await left(persistence).isSuperset(of: ["a", "b"]))
      }
    }

    @Test func `bytes count as records do, and what replaces a record takes its place`() async throws {
      try await withDatabase { path in
        let persistence = try open(path, limit: 20_000)
        try await save((0..<400).map { "\($0 % 40)" }, persistence)
        let usage = try numbers(path, "SELECT bytes, count FROM reactor_usage")
        #expect((10_000...20_000).contains(usage[0]))
        #expect(try numbers(path, "SELECT sum(size), count(*) FROM reactor_record") == usage)
      }
    }

    @Test func `several on one file keep one sum`() async throws {
      try await withDatabase { path in
        let both = [try open(path, limit: 50_000), try open(path, limit: 50_000)]
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<200 {
            group.addTask {
              let key = RecordKey.sample("\(number % 70)")
              try await both[number % 2].save(.sample(key, at: Date(), count: number), for: key)
              if number % 3 == 0 { try await both[number % 2].remove(key) }
            }
          }
          try await group.waitForAll()
        }
        #expect(
          try numbers(path, "SELECT bytes, count FROM reactor_usage")
            == numbers(path, "SELECT sum(size), count(*) FROM reactor_record"))
        try await both[0].removeAll(in: nil)
        #expect(try numbers(path, "SELECT bytes, count FROM reactor_usage") == [0, 0])
      }
    }

    @Test(arguments: [
      "DELETE FROM reactor_usage", "UPDATE reactor_usage SET bytes = -5", "UPDATE reactor_usage SET count = 9000",
    ])
    func `a sum that is wrong is made right`(damage: String) async throws {
      try await withDatabase { path in
        let persistence = try open(path, count: 20)
        try await save((0..<10).map(String.init), persistence)
        try change(path, damage)
        try await save(["new"], persistence)
        try await save((0..<25).map { "more \($0)" }, persistence)
        #expect(try await left(persistence).count <= 20)
      }
    }

    @Test(arguments: [-1, 0, 900])
    func `a record above the limit is an error that says so, and nothing is written`(limit: Int) async throws {
      try await withDatabase { path in
        let persistence = try open(path, limit: limit)
        let key = RecordKey.sample()
        let record = Record.sample(key, at: time.now)
        let size = SQLiteRows.Change(record, for: key, at: time.now).size
        await #expect(throws: SQLitePersistenceError.tooLarge(size: size, limit: max(0, limit))) {
          try await persistence.save(record, for: key)
        }
        #expect(try await persistence.load(key) == nil)
      }
    }

    @Test(arguments: [-1, 0, 1])
    func `the limit of a database keeps at least one record`(count: Int) async throws {
      try await withDatabase { path in
        let persistence = try open(path, count: count)
        try await save(["a", "b", "c"], persistence)
        #expect(try await left(persistence) == ["c"])
      }
    }

    @Test func `twenty thousand saves stay under the limit, and their files under the stated slack`() async throws {
      try await withDatabase { path in
        let limit = 4 << 20
        let persistence = try open(path, limit: limit, count: 100_000)
        var most = 0
        for round in 0..<40 {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<500 {
              group.addTask { [time] in
                let key = RecordKey.sample("\(round)/\(number)")
                try await persistence.save(.sample(key, at: time.now), for: key)
              }
            }
            try await group.waitForAll()
          }
          time.advance(1)
          let bytes = try persistence.database.inspect { try SQLiteEviction.usage($0).bytes }
          #expect(bytes <= limit)
          most = max(most, try ["", "-wal", "-shm"].reduce(0) { try $0 + size(path + $1) })
        }
        #expect(most < 2 * limit + (8 << 20), "\(most) bytes")
      }
    }

    @Test func `no statement of eviction reads the whole table`() async throws {
      try await withDatabase { path in
        _ = try open(path)
        for condition in [
          "used_at > 1 ORDER BY used_at DESC LIMIT 64",
          "used_at >= 0 AND used_at < 1 AND fresh_until < 1 ORDER BY used_at LIMIT 64",
          "TRUE ORDER BY used_at LIMIT 64",
        ] {
          let plan = try lines(
            path, "EXPLAIN QUERY PLAN SELECT rowid, size, used_at FROM reactor_record WHERE \(condition)")
          #expect(plan.count == 1 && plan[0].contains("reactor_record_by_use"), "\(plan)")
        }
        let plan = try lines(path, "EXPLAIN QUERY PLAN DELETE FROM reactor_record WHERE scope = x'00'")
        #expect(plan.allSatisfy { $0.contains("reactor_record_by_scope_and_url") }, "\(plan)")
      }
    }
  }
#endif
