#if SQLite
  import Foundation
  import ReactorCore
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `An SQLite database that another process holds` {
    private let key = RecordKey.sample()
    private let other = RecordKey.sample("other")
    private let impatient = SQLiteSystem(lockWait: .zero)

    private func open(_ path: String) throws -> SQLitePersistence {
      try SQLitePersistence(path: path, system: impatient, now: { Date() })
    }

    @Test func `a transaction that does not end fails only writes, and says what to do`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        try await persistence.save(.sample(key), for: key)
        let holder = try LockHolder(path)
        var errors: [SQLitePersistenceError] = []
        for attempt in [
          { [other] in try await persistence.save(.sample(other), for: other) },
          { [key] in try await persistence.remove(key) },
          { try await persistence.removeAll(in: nil) },
          { try await persistence.compact() },
        ] as [@Sendable () async throws -> Void] {
          let error = await #expect(throws: SQLitePersistenceError.self) { try await attempt() }
          errors.append(try #require(error))
        }
        let operations: [SQLitePersistenceError.Operation] = [.save, .remove, .remove, .compact]
        #expect(errors == operations.map { .sqlite($0, path: path, code: 5, message: "database is locked") })
        #expect(errors.allSatisfy { $0.description.hasSuffix("; try again, or end that process if it hangs") })
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [key])
        #expect(try await open(path).load(key) == .sample(key))
        try holder.release()
        try await persistence.save(.sample(other), for: other)
        #expect(Set(try await persistence.entries(in: nil, url: nil).map(\.key)) == [key, other])
      }
    }

    @Test func `a database without shared read access cannot be opened, and is left as it is`() async throws {
      try await withDatabase { path in
        try await open(path).save(.sample(key), for: key)
        let holder = try LockHolder(path, isExclusive: true)
        let error = #expect(throws: SQLitePersistenceError.self) { try open(path) }
        #expect(error == .sqlite(.open, path: path, code: 5, message: "database is locked"))
        try holder.close()
        #expect(try await open(path).load(key) == .sample(key))
        #expect(try neighbours(path).filter { $0.contains("corrupt") }.isEmpty)
      }
    }

    @Test func `a database that another process opens for ever is an error that says so`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        try await persistence.save(.sample(key), for: key)
        let holder = try #require(OpeningHolder(path))
        let error = #expect(throws: SQLitePersistenceError.self) { try open(path) }
        #expect(error == .file(path: path + "-lock", code: EWOULDBLOCK))
        let text = try #require(error).description
        #expect(text.contains("another process is opening the database") && text.hasSuffix("if it hangs"))
        // An open store needs no lock.
        try await persistence.save(.sample(other), for: other)
        #expect(try await persistence.load(key) == .sample(key))
        holder.release()
        #expect(try await open(path).load(other) == .sample(other))
      }
    }

    @Test func `a database that another process is opening is waited for`() async throws {
      try await withDatabase { path in
        try await open(path).save(.sample(key), for: key)
        let holder = try #require(OpeningHolder(path))
        let tries = Mutex(0)
        let system = SQLiteSystem(fault: { call, _ in
          guard call == .lock else { return nil }
          let count = tries.withLock { tries in
            tries += 1
            return tries
          }
          if count == 3 { holder.release() }
          return nil
        })
        #expect(try await SQLitePersistence(path: path, system: system, now: { Date() }).load(key) == .sample(key))
        #expect(tries.withLock { $0 } == 3)
      }
    }
  }
#endif
