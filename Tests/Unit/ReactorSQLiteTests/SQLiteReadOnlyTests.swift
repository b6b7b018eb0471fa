#if SQLite
  import Foundation
  import HTTPCaching
  import ReactorCore
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite("An SQLite database on a disk that is read-only", .timeLimit(.minutes(5)))
  struct SQLiteReadOnlyTests {
    private let key = RecordKey.sample()
    /// Refuses every change, as the system does on such a disk.
    private let readOnly = SQLiteSystem(
      files: FileSystem { operation, path in
        switch operation {
        case .create: FileManager.default.fileExists(atPath: path) ? .error(EEXIST) : .error(EROFS)
        case .open: path.hasSuffix("-lock") ? .error(EROFS) : nil
        case .rename, .remove, .createDirectory: .error(EROFS)
        default: nil
        }
      })

    private func open(_ path: String) throws -> SQLitePersistence {
      try SQLitePersistence(path: path, system: readOnly, now: { Date() })
    }

    @Test(arguments: [true, false]) func `a read-only database is read, and refuses changes`(hasLock: Bool) async throws
    {
      try await withDatabase { path in
        let secret: RecordKey.SecretKey?
        do {
          let writable = try SQLitePersistence(path: path)
          try await writable.save(.sample(key), for: key)
          secret = writable.secretKey()
        }
        if !hasLock { try FileManager.default.removeItem(atPath: path + "-lock") }
        let before = try neighbours(path)
        let persistence = try open(path)
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try await persistence.load(.sample("other")) == nil)
        #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [key])
        #expect(persistence.secretKey() == secret && secret != nil)
        for change in [
          { [key] in try await persistence.save(.sample(key), for: key) },
          { [key] in try await persistence.remove(key) },
          { try await persistence.removeAll(in: nil) },
        ] as [@Sendable () async throws -> Void] {
          let error = await #expect(throws: SQLitePersistenceError.self) { try await change() }
          guard case .sqlite(_, path, 8, "the disk is read-only")? = error else {
            Issue.record("\(String(describing: error))")
            continue
          }
        }
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try neighbours(path) == before)
      }
    }

    @Test func `a read-only database serves a layer, whose answers stay in memory`() async throws {
      try await withDatabase { path in
        let clock = TestClock()
        let bench = Bench(persistence: try SQLitePersistence(path: path), clock: clock)
        bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
        _ = try await bench.notes.fetch("note")
        let again = Bench(persistence: try open(path), clock: clock, transport: bench.transport)
        #expect(try await again.notes.fetch("note").text == "one")
        bench.transport.answer("/v1/note", with: .json(Note(1, "two").json))
        #expect(try await again.notes.fetchFromNetwork("note").text == "two")
        #expect(again.log.count(.saveFailed) == 1 && again.notes.cached("note")?.text == "two")
      }
    }

    @Test func `a missing database on a read-only disk is an error`() async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.appending(path: "records.sqlite").path()
        #expect(throws: SQLitePersistenceError.file(path: path + "-lock", code: EROFS)) { try open(path) }
      }
    }

    @Test func `a read-only database of another program is an error, and stays unchanged`() async throws {
      try await withDatabase { path in
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data("no database".utf8).write(to: URL(filePath: path))
        #expect(throws: SQLitePersistenceError.self) { try open(path) }
        #expect(try neighbours(path) == ["records.sqlite"])
      }
    }
  }

  @Suite("A fetch while another process holds the database", .timeLimit(.minutes(5)))
  struct SQLiteHeldFetchTests {
    @Test func `a fetch beside a held database returns after the budget, and is saved later`() async throws {
      try await withDatabase { path in
        let transport = ScriptedTransport { _, _ in .json(Note(1, "one").json) }
        var configuration = ReactorConfiguration()
        configuration.persistenceBudget = .milliseconds(50)
        let layer = ModelLayer(
          baseURL: Bench.url, transport: transport, persistence: try SQLitePersistence(path: path),
          reachability: .always, configuration: configuration)
        let log = EventRecorder(layer)
        let holder = try LockHolder(path)
        #expect(try await layer.reactor(Note.self).fetch("note").text == "one")
        #expect(log.count(.saveIsLate) == 1 && log.count(.saved) == 0)
        try holder.release()
        try await log.wait(for: .saved)
      }
    }
  }
#endif
