#if SQLite
  import Foundation
  import HTTPTypes
  import ReactorCore
  import ReactorSQLite
  import ReactorConformance
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite struct `SQLite persistence` {
    private let key = RecordKey.sample()

    @Test func `SQLitePersistence keeps the contract`() async throws {
      try await withTemporaryDirectory { directory in
        try await PersistenceConformance(opening: {
          let path = directory.appending(path: "\(UUID().uuidString).sqlite").path()
          return { try SQLitePersistence(path: path) }
        }).run()
      }
    }

    @Test func `a record is there when the database is opened again`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        try await SQLitePersistence(path: path).save(.sample(key), for: key)
        #expect(try await SQLitePersistence(path: path).load(key) == .sample(key))
      }
    }

    @Test func `a record of one instance is loaded by another on the same file at once`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        let (one, other) = (try SQLitePersistence(path: path), try SQLitePersistence(path: path))
        for number in 0..<20 {
          try await one.save(.sample(key, "\(number)"), for: key)
          #expect(try await other.load(key) == .sample(key, "\(number)"))
        }
      }
    }

    @Test(arguments: 0..<40)
    func `many may open one new file at once`(round: Int) async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<4 {
            group.addTask {
              let key = RecordKey.sample("\(number)")
              try await SQLitePersistence(path: path).save(.sample(key), for: key)
            }
          }
          try await group.waitForAll()
        }
        #expect(try await SQLitePersistence(path: path).entries(in: nil, url: nil).count == 4)
      }
    }

    @Test func `only the owner may read the files and directories`() async throws {
      try await withTemporaryDirectory { directory in
        let folder = directory.appending(path: "a/b")
        let persistence = try SQLitePersistence(path: folder.appending(path: "records.sqlite").path())
        try await persistence.save(.sample(key), for: key)
        for name in ["records.sqlite", "records.sqlite-wal", "records.sqlite-shm"] {
          #expect(try permissions(folder.appending(path: name)) == 0o600, "\(name)")
        }
        #expect(try permissions(folder) == 0o700)
        #expect(try permissions(directory.appending(path: "a")) == 0o700)
        _ = persistence
      }
    }

    @Test func `a scope is its bytes, and ends at no NUL`() async throws {
      try await withTemporaryDirectory { directory in
        let persistence = try SQLitePersistence(path: directory.appending(path: "records.sqlite").path())
        let keys = ["alice", "alice\u{0}", "alice\u{0}b"].map { RecordKey.sample(scope: Scope($0)) }
        for key in keys { try await persistence.save(.sample(key), for: key) }
        #expect(try await persistence.entries(in: "alice", url: nil).map(\.key) == [keys[0]])
        try await persistence.removeAll(in: "alice")
        #expect(Set(try await persistence.entries(in: nil, url: nil).map(\.key)) == [keys[1], keys[2]])
      }
    }

    @Test func `a cancelled list ends, and a cancelled save is whole`() async throws {
      try await withTemporaryDirectory { directory in
        let persistence = try SQLitePersistence(path: directory.appending(path: "records.sqlite").path())
        let key = key
        try await Task {
          withUnsafeCurrentTask { $0?.cancel() }
          try await persistence.save(.sample(key), for: key)
          await #expect(throws: CancellationError.self) { try await persistence.entries(in: nil, url: nil) }
        }.value
        #expect(try await persistence.load(key) == .sample(key))
      }
    }
  }
#endif
