#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `A database that cannot be used` {
    private let time = Time()
    private let key = RecordKey.sample()
    private let keys = (0..<300).map { RecordKey.sample("\($0)") }

    private func open(_ path: String) throws -> SQLitePersistence {
      try SQLitePersistence(path: path, now: { [time] in time.now })
    }

    /// A database of 300 records, closed, with nothing in `-wal`.
    private func fill(_ path: String) async throws {
      let persistence = try open(path)
      for key in keys { try await persistence.save(.sample(key, at: time.now), for: key) }
    }

    private func parts(_ error: SQLitePersistenceError?, _ path: String) throws -> (name: String, reason: SQLiteDamage)
    {
      guard case .setAside(path, let name, let reason) = error else { throw NotSetAside(error: error) }
      return (name, reason)
    }

    private struct NotSetAside: Error { var error: SQLitePersistenceError? }

    /// Damage by a program, a disk or another release.
    struct Damage: Sendable, CustomTestStringConvertible {
      var testDescription: String
      var reason: @Sendable (SQLiteDamage) -> Bool
      var apply: @Sendable (String) throws -> Void
    }

    private static func isCorrupt(_ damage: SQLiteDamage) -> Bool {
      if case .corrupt = damage { true } else { false }
    }

    static let atOpening: [Damage] = [
      Damage(testDescription: "the header is overwritten", reason: { $0 == .notADatabase }) {
        try overwrite($0, at: 0, with: Data(repeating: 0x58, count: 100))
      },
      Damage(testDescription: "the page size is overwritten", reason: { $0 == .notADatabase || isCorrupt($0) }) {
        try overwrite($0, at: 16, with: Data([0xFF, 0xFF]))
      },
      Damage(testDescription: "the first page's content is overwritten", reason: isCorrupt) {
        try overwrite($0, at: 100, with: Data(repeating: 0xFF, count: 3_996))
      },
      Damage(testDescription: "it is cut in half", reason: isCorrupt) { path in
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: UInt64(try size(path) / 2))
        try file.close()
      },
      Damage(testDescription: "it is cut to ten bytes", reason: { $0 == .notADatabase }) { path in
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: 10)
        try file.close()
      },
      Damage(testDescription: "it is a text", reason: { $0 == .notADatabase }) {
        try Data("Dear diary\n".utf8).write(to: URL(filePath: $0))
      },
      Damage(testDescription: "a newer release has been there", reason: { $0 == .newerSchema }) {
        try change($0, "INSERT INTO grdb_migrations (identifier) VALUES ('reactor-4')")
      },
      Damage(testDescription: "a column is missing", reason: { $0 == .foreignSchema }) {
        try change($0, "ALTER TABLE reactor_record RENAME COLUMN head TO tail")
      },
      Damage(testDescription: "the migrations are forgotten", reason: { $0 == .foreignSchema }) {
        try change($0, "DELETE FROM grdb_migrations")
      },
    ]

    @Test(arguments: atOpening)
    func `a damaged database is set aside when it is opened, and reported once`(_ damage: Damage) async throws {
      try await withDatabase { path in
        try await fill(path)
        try damage.apply(path)
        let bytes = try Data(contentsOf: URL(filePath: path))
        let persistence = try open(path)
        let error = await #expect(throws: SQLitePersistenceError.self) { try await persistence.load(keys[0]) }
        let (name, reason) = try parts(error, path)
        #expect(damage.reason(reason), "\(reason)")
        #expect(name == path + ".corrupt-20260509T061320Z")
        #expect(try Data(contentsOf: URL(filePath: name)).count >= bytes.count / 2)
        #expect(try await persistence.load(keys[0]) == nil)
        try await persistence.save(.sample(key), for: key)
        #expect(try await open(path).load(key) == .sample(key))
      }
    }

    static let later: [Damage] = [
      Damage(testDescription: "every page but the first is overwritten", reason: isCorrupt) { path in
        try overwrite(path, at: 4_096, with: Data(repeating: 0xA5, count: try size(path) - 4_096))
      },
      Damage(testDescription: "it is cut", reason: isCorrupt) { path in
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: 8_192)
        try file.close()
      },
      Damage(testDescription: "the table is gone", reason: { $0 == .foreignSchema }) {
        try change($0, "DROP TABLE reactor_record")
      },
    ]

    @Test(arguments: later)
    func `a damaged database is set aside by a load, which throws once`(_ damage: Damage) async throws {
      try await withDatabase { path in
        try await fill(path)
        let persistence = try open(path)
        try damage.apply(path)
        let error = await #expect(throws: SQLitePersistenceError.self) { try await persistence.load(keys[150]) }
        let reason = try parts(error, path).reason
        #expect(damage.reason(reason), "\(reason)")
        #expect(try await persistence.load(keys[150]) == nil)
        try await persistence.save(.sample(key), for: key)
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try await persistence.verify() == [])
      }
    }

    @Test(arguments: later)
    func `a damaged database is set aside by a save, which continues`(_ damage: Damage) async throws {
      try await withDatabase { path in
        try await fill(path)
        let persistence = try open(path)
        try damage.apply(path)
        try await persistence.save(.sample(keys[7]), for: keys[7])
        #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [keys[7]])
        await #expect(throws: SQLitePersistenceError.self) { try await persistence.load(keys[7]) }
        #expect(try await persistence.load(keys[7]) == .sample(keys[7]))
      }
    }

    @Test func `a list and a removal continue after damage, and verify reports it`() async throws {
      try await withDatabase { path in
        try await fill(path)
        let persistence = try open(path)
        try Self.later[0].apply(path)
        #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
        try await persistence.remove(keys[0])
        let defects = try await persistence.verify()
        #expect(defects.count == 1 && defects[0].description.contains("was damaged and renamed to"), "\(defects)")
        #expect(try await persistence.load(keys[0]) == nil)
      }
    }

    /// Columns with a few wrong bytes, whatever constraint they have.
    @Test(arguments: [
      "UPDATE reactor_usage SET bytes = NULL",
      "DROP TRIGGER reactor_record_replaced; UPDATE reactor_record SET size = NULL",
    ])
    func `a database is set aside if the sum of its sizes is no number`(_ damage: String) async throws {
      try await withDatabase { path in
        try await fill(path)
        let (bound, unbound) = ("INTEGER NOT NULL", "INTEGER NULL")
        try change(path, Self.declaring(bound, as: unbound))
        try change(path, damage)
        try change(path, Self.declaring(unbound, as: bound))
        let persistence = try open(path)
        #expect(try await persistence.load(keys[1]) == .sample(keys[1], at: time.now))
        try await persistence.remove(keys[0])
        let error = await #expect(throws: SQLitePersistenceError.self) { try await persistence.load(keys[1]) }
        let reason = try parts(error, path).reason
        #expect(Self.isCorrupt(reason), "\(reason)")
        try await persistence.save(.sample(key), for: key)
        #expect(try await persistence.load(key) == .sample(key))
        #expect(try await persistence.verify() == [])
      }
    }

    private static func declaring(_ old: String, as new: String) -> String {
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, '\(old)', '\(new)') WHERE name LIKE 'reactor_%';
      PRAGMA writable_schema = RESET;
      """
    }

    @Test func `an overwritten log loses only its own contents`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        try await persistence.save(.sample(key), for: key)
        try checkpoint(path)
        try await persistence.save(.sample(keys[0]), for: keys[0])
        let wal = try Data(contentsOf: URL(filePath: path + "-wal"))
        let copy = path + ".copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        try (wal.prefix(40) + Data(repeating: 0xEE, count: wal.count - 40)).write(to: URL(filePath: copy + "-wal"))
        let copied = try open(copy)
        #expect(try await copied.load(key) == .sample(key))
        #expect(try await copied.load(keys[0]) == nil)
        withExtendedLifetime(persistence) {}
      }
    }

    @Test func `the two newest databases that were set aside are kept`() async throws {
      try await withDatabase { path in
        _ = try open(path)
        for _ in 0..<12 {
          try Data("no database".utf8).write(to: URL(filePath: path))
          _ = try open(path)
        }
        time.advance(1)
        try Data("no database".utf8).write(to: URL(filePath: path))
        _ = try open(path)
        let kept = try neighbours(path).filter { $0.contains("corrupt") }
        #expect(
          kept == ["records.sqlite.corrupt-20260509T061320Z-12", "records.sqlite.corrupt-20260509T061321Z"], "\(kept)")
      }
    }

    @Test func `two that find it at once set it aside once`() async throws {
      try await withDatabase { path in
        try await fill(path)
        let both = [try open(path), try open(path)]
        try Self.later[0].apply(path)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, key) in keys.prefix(40).enumerated() {
            group.addTask { [key] in try await both[index % 2].save(.sample(key), for: key) }
          }
          try await group.waitForAll()
        }
        #expect(Set(try await both[0].entries(in: nil, url: nil).map(\.key)) == Set(keys.prefix(40)))
        #expect(Set(try await both[1].entries(in: nil, url: nil).map(\.key)) == Set(keys.prefix(40)))
        #expect(try neighbours(path).filter { $0.hasPrefix("records.sqlite.corrupt") && $0.hasSuffix("Z") }.count == 1)
        var told = 0
        for persistence in both {
          do { _ = try await persistence.load(keys[0]) } catch is SQLitePersistenceError { told += 1 }
        }
        #expect(told == 1)
      }
    }

    @Test func `files that are removed are an empty store`() async throws {
      try await withDatabase { path in
        try await fill(path)
        let persistence = try open(path)
        let directory = (path as NSString).deletingLastPathComponent
        try FileManager.default.removeItem(atPath: directory)
        time.advance(1)
        #expect(try await persistence.load(keys[0]) == nil)
        try FileManager.default.removeItem(atPath: directory)
        try await persistence.save(.sample(key), for: key)
        #expect(try await open(path).load(key) == .sample(key))
        #expect(try await persistence.entries(in: nil, url: nil).map(\.key) == [key])
      }
    }

    @Test func `a log without its database is not taken for another's`() async throws {
      try await withDatabase { path in
        let persistence = try open(path)
        try await persistence.save(.sample(key), for: key)
        #expect(try size(path + "-wal") > 0)
        try FileManager.default.removeItem(atPath: path)
        #expect(try await open(path).load(key) == nil)
        withExtendedLifetime(persistence) {}
      }
    }

    @Test func `another program's database is left as it is`() async throws {
      try await withDatabase { path in
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try change(path, "CREATE TABLE player (name TEXT); INSERT INTO player VALUES ('Arthur')")
        let bytes = try Data(contentsOf: URL(filePath: path))
        #expect(throws: SQLitePersistenceError.foreign(path: path)) { try open(path) }
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes)
        #expect(try neighbours(path) == ["records.sqlite", "records.sqlite-lock"])
      }
    }

    @Test func `a full disk is an error, and the store works on`() async throws {
      try await withDatabase { path in
        try await fill(path)
        let persistence = try open(path)
        try limitPages(persistence, 1)
        let large = Record.sample(key, at: time.now, count: 1_000_000)
        let error = await #expect(throws: SQLitePersistenceError.self) { try await persistence.save(large, for: key) }
        #expect(error == .sqlite(.save, path: path, code: 13, message: "database or disk is full"))
        #expect(try await persistence.load(key) == nil)
        #expect(try await persistence.load(keys[3]) == .sample(keys[3], at: time.now))
        try limitPages(persistence, 1_000_000)
        try await persistence.save(large, for: key)
        #expect(try await persistence.load(key) == large)
      }
    }

    @Test(.enabled(if: geteuid() != 0, "the superuser may write everywhere"))
    func `a directory that cannot be written is an error`() async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(
          at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o500])
        let path = directory.appending(path: "records.sqlite").path()
        #expect(throws: SQLitePersistenceError.file(path: path + "-lock", code: EACCES)) { try open(path) }
      }
    }

    #if os(Linux)
      @Test func `a directory where files cannot be created is an error`() {
        #expect(throws: SQLitePersistenceError.self) { try open("/proc/self/records.sqlite") }
      }
    #endif
  }
#endif
