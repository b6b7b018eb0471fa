#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite("A database's secret key") struct SQLiteSecretKeyTests {
    @Test func `a database's secret key is made with the database, one for all who open it at once`() async throws {
      try await withDatabase { path in
        let keys = try await withThrowingTaskGroup(of: RecordKey.SecretKey?.self) { group in
          for _ in 0..<8 { group.addTask { try SQLitePersistence(path: path).secretKey() } }
          return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1 && !keys.contains(nil))
        #expect(try SQLitePersistence(path: path).secretKey() == keys.first)
      }
    }

    @Test func `a database's secret key is another in another database`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = try ["a", "b"].map { try SQLitePersistence(path: directory.appending(path: $0).path()).secretKey() }
        #expect(keys[0] != keys[1])
      }
    }

    @Test func `a database's secret key comes to a database of the first release`() async throws {
      try await withDatabase { path in
        try makeFirstVersion(path, [.sample()])
        let key = try SQLitePersistence(path: path).secretKey()
        #expect(key != nil)
        #expect(try SQLitePersistence(path: path).secretKey() == key)
      }
    }

    @Test func `a database's secret key outlives removeAll and compact`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path)
        let key = persistence.secretKey()
        try await persistence.save(.sample(.sample()), for: .sample())
        try await persistence.removeAll(in: nil)
        try await persistence.compact()
        #expect(try SQLitePersistence(path: path).secretKey() == key)
      }
    }

    @Test func `a database's secret key is another when the database was set aside`() async throws {
      try await withDatabase { path in
        let key = try SQLitePersistence(path: path).secretKey()
        try Data("Dear diary\n".utf8).write(to: URL(filePath: path))
        let new = try SQLitePersistence(path: path).secretKey()
        #expect(new != nil && new != key)
      }
    }

    @Test(arguments: ["DELETE FROM reactor_secret_key", "UPDATE reactor_secret_key SET bytes = 'short'"])
    func `a database whose key was changed has no key, and its records are kept`(_ statement: String) async throws {
      try await withDatabase { path in
        try await SQLitePersistence(path: path).save(.sample(.sample()), for: .sample())
        try change(path, statement)
        let persistence = try SQLitePersistence(path: path)
        #expect(persistence.secretKey() == nil)
        #expect(try await persistence.load(.sample()) == .sample(.sample()))
      }
    }
  }
#endif
