#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `When a record was used` {
    private let time = Time()

    private func open(_ path: String) throws -> SQLitePersistence {
      try SQLitePersistence(path: path, now: { [time] in time.now })
    }

    private func used(_ key: RecordKey, _ persistence: SQLitePersistence) async throws -> Date? {
      try await persistence.entries(in: nil, url: nil).first { $0.key == key }?.lastUsedAt
    }

    @Test func `a load is noted with the next save, and once a minute at most`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        let (key, other) = (RecordKey.sample("a"), RecordKey.sample("b"))
        let saved = time.now
        try await persistence.save(.sample(key), for: key)
        #expect(try await used(key, persistence) == saved)
        time.advance(59)
        _ = try await persistence.load(key)
        try await persistence.save(.sample(other), for: other)
        #expect(try await used(key, persistence) == saved)
        time.advance(1)
        let loaded = time.now
        _ = try await persistence.load(key)
        #expect(try await used(key, persistence) == saved)
        try await persistence.save(.sample(other), for: other)
        #expect(try await used(key, persistence) == loaded)
      }
    }

    @Test func `sixty-four loads are noted without a save`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        let keys = (0..<64).map { RecordKey.sample("\($0)") }
        for key in keys { try await persistence.save(.sample(key), for: key) }
        let saved = time.now
        time.advance(100)
        for key in keys.dropLast() { _ = try await persistence.load(key) }
        #expect(try await used(keys[0], persistence) == saved)
        _ = try await persistence.load(keys[63])
        for key in keys { #expect(try await used(key, persistence) == time.now) }
      }
    }

    @Test func `noting it waits for no other process, and fails no load`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        let keys = (0..<64).map { RecordKey.sample("\($0)") }
        for key in keys { try await persistence.save(.sample(key), for: key) }
        time.advance(100)
        let holder = try LockHolder(path)
        for key in keys { #expect(try await persistence.load(key) != nil) }
        try holder.release()
        try await persistence.save(.sample(keys[0]), for: keys[0])
        #expect(try numbers(path, "PRAGMA integrity_check") == [])
      }
    }
  }
#endif
