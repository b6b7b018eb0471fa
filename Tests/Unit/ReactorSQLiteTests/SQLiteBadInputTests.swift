#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import ReactorSQLite
  import TestSupport
  import Testing

  @Suite struct `Bad SQLite databases` {
    private let key = RecordKey.sample()
    private let other = RecordKey.sample("other")

    static let damages: [(sql: String, error: Record.Failure?)] = [
      ("head = substr(head, 1, 40)", .truncated),
      ("head = x''", .truncated),
      ("body = substr(body, 1, 1)", .truncated),
      ("body = x'5B315D00'", .corrupt("1 bytes follow its end")),
      ("body = x'5B325D'", .corrupt("the body's checksum is wrong")),
      ("head = CAST(replace(head, 'json', 'text') AS BLOB)", .corrupt("the head's checksum is wrong")),
      (
        "head = CAST('not a record, however long it may be: fifty bytes!' AS BLOB)",
        .corrupt("it does not start like a record")
      ),
      ("head = 7", .corrupt("a column of its row does not contain bytes")),
      ("body = 7", .corrupt("a column of its row does not contain bytes")),
      ("head = (SELECT head FROM reactor_record WHERE url LIKE '%other')", nil),
    ]

    @Test(arguments: damages.indices)
    func `a damaged record is a miss with its cause, harms no other, and is replaced`(_ index: Int) async throws {
      let damage = Self.damages[index]
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        let persistence = try SQLitePersistence(path: path)
        for key in [key, other] { try await persistence.save(.sample(key), for: key) }
        try change(path, "UPDATE reactor_record SET \(damage.sql) WHERE digest = '\(key.digest)'")
        if let error = damage.error {
          await #expect(throws: error, "\(damage.sql)") { try await persistence.load(key) }
        } else {
          #expect(try await persistence.load(key) == nil)
        }
        #expect(try await persistence.load(other) == .sample(other))
        #expect(try await persistence.entries(in: nil, url: nil).map(\.key).contains(other))
        try await persistence.save(.sample(key, "new"), for: key)
        #expect(try await persistence.load(key) == .sample(key, "new"))
      }
    }

    @Test func `a record of a newer format is a miss that says so`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        let persistence = try SQLitePersistence(path: path)
        try await persistence.save(.sample(key), for: key)
        try change(
          path, "UPDATE reactor_record SET head = CAST(substr(head, 1, 16) || x'07' || substr(head, 18) AS BLOB)")
        await #expect(throws: Record.Failure.newerFormat(7)) { try await persistence.load(key) }
      }
    }

    @Test(arguments: ["", ":memory:", "a\u{0}b"])
    func `a path that names no file is an error`(path: String) {
      #expect(throws: SQLitePersistenceError.invalidPath(path)) { try SQLitePersistence(path: path) }
    }

    @Test func `a directory, and a part of the path that is a file, are each their own error`() async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: "text")
        try Data().write(to: file)
        let below = file.appending(path: "records.sqlite").path()
        #expect(throws: SQLitePersistenceError.file(path: below + "-lock", code: ENOTDIR)) {
          try SQLitePersistence(path: below)
        }
        #expect(code(directory.path()) == 14)
      }
    }

    @Test func `a lock that is a broken link is an error, and no endless search`() async throws {
      try await withTemporaryDirectory { directory in
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.appending(path: "records.sqlite").path()
        try FileManager.default.createSymbolicLink(atPath: path + "-lock", withDestinationPath: path + "-gone")
        #expect(throws: SQLitePersistenceError.file(path: path + "-lock", code: ENOENT)) {
          try SQLitePersistence(path: path)
        }
      }
    }

    @Test func `an error shows neither the statement nor the URL`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        let persistence = try SQLitePersistence(path: path)
        try change(
          path, "CREATE TRIGGER no BEFORE INSERT ON reactor_record BEGIN SELECT RAISE(ABORT, 'no'); END")
        let error = await #expect(throws: SQLitePersistenceError.self) {
          try await persistence.save(.sample(key), for: key)
        }
        #expect(error == .sqlite(.save, path: path, code: 1811, message: "no"))
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("example.com"))
      }
    }

    /// The result code with which opening fails.
    private func code(_ path: String) -> Int32? {
      do {
        _ = try SQLitePersistence(path: path)
        return nil
      } catch {
        if case .sqlite(.open, _, let code, _) = error { return code } else { return nil }
      }
    }
  }
#endif
