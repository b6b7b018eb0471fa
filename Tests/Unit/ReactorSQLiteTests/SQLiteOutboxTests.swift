#if SQLite
  import Foundation
  import GRDB
  import ReactorCore
  import ReactorOutbox
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  func entry(_ text: String, id: UUID = UUID()) -> StoredEntry {
    StoredEntry(id: id, lane: "main", bytes: Data(text.utf8))
  }

  extension OutboxContents {
    var texts: [String] { entries.map { String(decoding: $0.bytes, as: UTF8.self) } }
  }

  func withOutbox<Value>(_ body: (String) async throws -> Value) async rethrows -> Value {
    try await withTemporaryDirectory { try await body($0.appending(path: "outbox.sqlite").path()) }
  }

  /// The names of the databases that were set aside, without their `-wal` and `-shm`.
  func damagedNames(_ path: String) throws -> [String] {
    try neighbours(path).filter { $0.contains(".corrupt-") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }
  }

  @Suite struct `An outbox in SQLite` {
    @Test func `SQLiteOutboxStorage keeps the contract`() async throws {
      try await withTemporaryDirectory { directory in
        try await OutboxStorageConformance(opening: {
          let path = directory.appending(path: "\(UUID().uuidString)/outbox.sqlite").path()
          return { try SQLiteOutboxStorage(path: path) }
        }).run()
      }
    }

    @Test func `commits are synchronized, and deleted bytes overwritten`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        let settings = try storage.database.manage { db in
          try ["synchronous", "fullfsync", "secure_delete", "journal_mode"].map { try pragma($0, db) }
        }
        #expect(settings == ["2", "1", "1", "wal"])
      }
    }

    @Test func `only the owner may read the files`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        _ = try await storage.commit([.add(entry("one"))], in: .shared)
        let directory = URL(filePath: path).deletingLastPathComponent()
        #expect(try permissions(directory) == 0o700)
        #expect(try neighbours(path).count == 4)
        for name in try neighbours(path) { #expect(try permissions(directory.appending(path: name)) == 0o600) }
      }
    }

    @Test func `a scope that was removed leaves none of its bytes in any file`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        for number in 0..<200 {
          for name in ["alice", "robert"] {
            let entry = entry(String(repeating: "\(name)-\(number) ", count: 1 + number % 90))
            let changes: [OutboxChange] = [.add(entry), .identify("\(name)-\(number)", Data("\(name)-id".utf8))]
            _ = try await storage.commit(changes, in: Scope("\(name)-scope"))
            if number % 7 == 0 {
              _ = try await storage.commit([.remove(entry.id)], in: Scope("\(name)-scope"))
            }
          }
        }
        func traces(_ text: String) throws -> [String] {
          let directory = URL(filePath: path).deletingLastPathComponent()
          return try neighbours(path).filter {
            try Data(contentsOf: directory.appending(path: $0)).firstRange(of: Data(text.utf8)) != nil
          }
        }
        #expect(try !traces("alice").isEmpty)
        try await storage.removeAll(in: "alice-scope")
        #expect(try traces("alice") == [] && !traces("robert").isEmpty)
        // So does a removal that keeps an entry.
        let kept = entry("kept")
        _ = try await storage.commit([.add(kept)], in: "robert-scope")
        try await storage.removeAll(in: "robert-scope", keeping: [kept.id])
        #expect(try await storage.contents(of: "robert-scope").entries.map(\.bytes) == [kept.bytes])
        // The scope's name belongs to the kept entry.
        #expect(try traces("robert-1 ") == [] && traces("robert-id") == [])
        try await storage.removeAll(in: nil)
        #expect(try traces("robert") == [])
      }
    }

    @Test func `ten thousand entries are read by another instance`() async throws {
      try await withOutbox { path in
        let entries = (0..<OutboxContents.entryLimit).map { entry("\($0)") }
        _ = try await SQLiteOutboxStorage(path: path).commit(entries.map { .add($0) }, in: .shared)
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(contents.entries.map(\.id) == entries.map(\.id))
      }
    }

    /// The first schema had an index more.
    @Test func `a file of the first schema keeps its entries, and loses an index`() async throws {
      try await withOutbox { path in
        let old = entry("old")
        _ = try await SQLiteOutboxStorage(path: path).commit(
          [.add(old), .identify("a", Data("1".utf8))], in: .shared)
        try change(
          path,
          """
          CREATE INDEX outbox_entry_by_scope ON outbox_entry (scope);
          DROP TABLE outbox_store;
          DELETE FROM grdb_migrations WHERE identifier IN ('outbox-2', 'outbox-3');
          """)
        let storage = try SQLiteOutboxStorage(path: path)
        #expect(try await storage.commit([.add(entry("new"))], in: .shared) == [2])
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(contents.texts == ["old", "new"] && contents.identities == ["a": Data("1".utf8)])
        #expect(contents.setAside.isEmpty)
        let indexes = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name LIKE 'outbox_entry%'"
        #expect(try numbers(path, indexes) == [1])
      }
    }

    @Test func `an entry that is there is not added again, with room or without`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        let entries = (0..<OutboxContents.entryLimit).map { entry("\($0)") }
        let duplicate = OutboxStorageError.duplicateEntry(entries[0].id)
        _ = try await storage.commit([.add(entries[0])], in: .shared)
        await #expect(throws: duplicate) { try await storage.commit([.add(entries[0])], in: .shared) }
        _ = try await storage.commit(entries.dropFirst().map { .add($0) }, in: .shared)
        await #expect(throws: duplicate) { try await storage.commit([.add(entries[0])], in: .shared) }
        // Another scope has separate room.
        _ = try await storage.commit([.add(entries[0])], in: Scope("another"))
      }
    }

    @Test func `the latest thousand ids stay, and the ids that entries have`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        let held = TemporaryID()
        _ = try await storage.commit(
          [.add(entry(#"{"id":\#(held.int)}"#)), .identify(held.string, Data("7".utf8))], in: .shared)
        for count in [500, 1_500, 3_000] {
          var last = ""
          for _ in 0..<count / 50 {
            let new = (0..<50).map { _ in TemporaryID().string }
            _ = try await storage.commit(new.map { .identify($0, Data("1".utf8)) }, in: .shared)
            last = new.last ?? ""
          }
          let ids = try await storage.contents(of: .shared).identities
          #expect(ids.count <= 1_251 && ids[held.string] == Data("7".utf8) && ids[last] != nil)
        }
      }
    }

    @Test func `a row that is no entry is described, and stays`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path)
        _ = try await storage.commit(["one", "two", "three"].map { .add(entry($0)) }, in: .shared)
        try change(path, "UPDATE outbox_entry SET id = x'00' WHERE number = 2")
        let contents = try await storage.contents(of: .shared)
        #expect(contents.texts == ["one", "three"])
        #expect(contents.setAside == ["the entry in row 2 of the database cannot be read, and stays there"])
        #expect(try numbers(path, "SELECT count(*) FROM outbox_entry") == [3])
      }
    }
  }

  @Suite struct `An outbox's database that cannot be used` {
    private let time = Time()

    private func open(_ path: String) throws -> SQLiteOutboxStorage {
      try SQLiteOutboxStorage(path: path, system: SQLiteSystem(), now: { [time] in time.now })
    }

    /// 300 entries, closed, with nothing in `-wal`.
    private func fill(_ path: String) async throws -> [StoredEntry] {
      let entries = (0..<300).map { entry("\($0) " + String(repeating: "x", count: 500)) }
      let storage = try open(path)
      _ = try await storage.commit(
        entries.map { .add($0) } + [.identify("a", Data("1".utf8))], in: .shared)
      // The last number was a removed entry's.
      let last = entry("last")
      _ = try await storage.commit([.add(last)], in: .shared)
      _ = try await storage.commit([.remove(last.id)], in: .shared)
      return entries
    }

    @Test func `a file that is no database is set aside and kept, each time`() async throws {
      try await withOutbox { path in
        for count in 1...3 {
          try FileManager.default.createDirectory(
            at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
          for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
          try Data("Dear diary \(count)\n".utf8).write(to: URL(filePath: path))
          let storage = try open(path)
          let contents = try await storage.contents(of: .shared)
          #expect(contents.entries.isEmpty && contents.setAside.count == count)
          #expect(try damagedNames(path).count == count)
          #expect(contents.setAside.allSatisfy { $0.contains("\(path).corrupt-2026") })
          _ = try await storage.commit([.add(entry("new"))], in: .shared)
          #expect(try await open(path).contents(of: .shared).texts == ["new"])
        }
        #expect(
          try damagedNames(path).map { name in
            try String(
              contentsOf: URL(filePath: path).deletingLastPathComponent().appending(path: name), encoding: .utf8)
          } == (1...3).map { "Dear diary \($0)\n" })
        try await open(path).removeAll(in: "nobody")
        #expect(try damagedNames(path).isEmpty)
      }
    }

    @Test func `the rows that can be read are taken over, with their numbers and ids`() async throws {
      try await withOutbox { path in
        let entries = try await fill(path)
        // A few pages in the midst of the rows.
        let length = try size(path)
        try overwrite(path, at: length / 2 / 4_096 * 4_096, with: Data(repeating: 0xA5, count: 4 * 4_096))
        let storage = try open(path)
        let contents = try await storage.contents(of: .shared)
        #expect(contents.setAside.count == 1 && contents.identities == ["a": Data("1".utf8)])
        #expect(contents.entries.count > 200 && contents.entries.count < 300)
        for stored in contents.entries {
          let original = entries[Int(stored.number) - 1]
          #expect(stored.id == original.id && stored.bytes == original.bytes)
        }
        #expect(contents.entries.first?.number == 1 && contents.entries.last?.number == 300)
        #expect(try await storage.commit([.add(entry("next"))], in: .shared) == [302])
        #expect(try damagedNames(path).count == 1)
      }
    }

    @Test func `a commit that finds the damage continues`() async throws {
      try await withOutbox { path in
        _ = try await fill(path)
        let storage = try open(path)
        try overwrite(path, at: 4_096, with: Data(repeating: 0xA5, count: try size(path) - 4_096))
        _ = try await storage.commit([.add(entry("new"))], in: .shared)
        let contents = try await storage.contents(of: .shared)
        #expect(contents.texts == ["new"] && contents.setAside.count == 1)
      }
    }

    @Test func `one of a newer release is refused and left as it is`() async throws {
      try await withOutbox { path in
        _ = try await fill(path)
        try change(path, "INSERT INTO grdb_migrations (identifier) VALUES ('outbox-4')")
        try checkpoint(path)
        let bytes = try Data(contentsOf: URL(filePath: path))
        #expect(throws: OutboxStorageError.newerFormat(path: path)) { try open(path) }
        #expect(try Data(contentsOf: URL(filePath: path)) == bytes && damagedNames(path).isEmpty)
      }
    }

    @Test func `a store of records and an outbox refuse each other's database`() async throws {
      try await withOutbox { path in
        _ = try await fill(path)
        #expect(throws: SQLitePersistenceError.foreign(path: path)) { try SQLitePersistence(path: path) }
        #expect(try await open(path).contents(of: .shared).entries.count == 300)
      }
      try await withDatabase { path in
        let key = RecordKey.sample()
        try await SQLitePersistence(path: path).save(.sample(key), for: key)
        #expect(throws: SQLitePersistenceError.foreign(path: path)) { try open(path) }
        #expect(try await SQLitePersistence(path: path).load(key) == .sample(key))
      }
    }

    @Test func `a database that another process holds is an error, and works afterwards`() async throws {
      try await withOutbox { path in
        let storage = try SQLiteOutboxStorage(path: path, system: SQLiteSystem(lockWait: .zero), now: { Date() })
        let first = entry("one")
        _ = try await storage.commit([.add(first)], in: .shared)
        let holder = try LockHolder(path)
        await #expect(throws: OutboxStorageError.locked(path: path)) {
          try await storage.commit([.add(entry("two"))], in: .shared)
        }
        await #expect(throws: OutboxStorageError.locked(path: path)) {
          try await storage.claim(first.id, in: .shared, by: UUID(), now: Date(), until: .distantFuture)
        }
        // Reading needs no lock.
        #expect(try await storage.contents(of: .shared).texts == ["one"])
        try holder.release()
        _ = try await storage.commit([.add(entry("two"))], in: .shared)
        let opening = try #require(OpeningHolder(path))
        #expect(throws: OutboxStorageError.locked(path: path + "-lock")) {
          try SQLiteOutboxStorage(path: path, system: SQLiteSystem(lockWait: .zero), now: { Date() })
        }
        opening.release()
        #expect(try await storage.contents(of: .shared).texts == ["one", "two"])
      }
    }

    @Test func `a database that was deleted is created again`() async throws {
      try await withOutbox { path in
        let storage = try open(path)
        _ = try await storage.commit([.add(entry("one"))], in: .shared)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        _ = try await storage.commit([.add(entry("two"))], in: .shared)
        #expect(try await open(path).contents(of: .shared).texts == ["two"])
      }
    }

    @Test func `a full disk is an error, and nothing of the commit is there`() async throws {
      try await withOutbox { path in
        let storage = try open(path)
        _ = try await storage.commit([.add(entry("one"))], in: .shared)
        try storage.database.manage { try $0.execute(sql: "PRAGMA max_page_count = 1") }
        let large = StoredEntry(id: UUID(), lane: "main", bytes: Data(count: 500_000))
        let error = await #expect(throws: SQLitePersistenceError.self) {
          try await storage.commit([.add(entry("two")), .add(large)], in: .shared)
        }
        #expect(error == .sqlite(.save, path: path, code: 13, message: "database or disk is full"))
        #expect(try await storage.contents(of: .shared).texts == ["one"])
        try storage.database.manage { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
        _ = try await storage.commit([.add(large)], in: .shared)
        #expect(try await storage.contents(of: .shared).entries.count == 2)
      }
    }
  }

  @Suite struct `An outbox in SQLite of two processes` {
    static let count = 60

    /// The parent and a child add and remove at once. Each finds its own entries in their order.
    @Test func `nothing is lost, and each number is one entry's`() async throws {
      try await withOutbox { path in
        async let child: Void = Self.child(path)
        try await Self.work(in: path, writer: "parent")
        try await child
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(Set(contents.entries.map(\.number)).count == contents.entries.count)
        for writer in ["parent", "child"] {
          let left = (0..<Self.count).filter { !$0.isMultiple(of: 3) }.map { "\(writer) \($0)" }
          #expect(contents.texts.filter { $0.hasPrefix(writer) } == left)
        }
      }
    }

    private static func child(_ path: String) async throws {
      await #expect(processExitsWith: .success) { [path] in
        try await `An outbox in SQLite of two processes`.work(in: path, writer: "child")
      }
    }

    private static func work(in path: String, writer: String) async throws {
      let storage = try SQLiteOutboxStorage(path: path)
      for index in 0..<count {
        let new = entry("\(writer) \(index)")
        _ = try await storage.commit([.add(new)], in: .shared)
        if index.isMultiple(of: 3) { _ = try await storage.commit([.remove(new.id)], in: .shared) }
      }
    }
  }
#endif
