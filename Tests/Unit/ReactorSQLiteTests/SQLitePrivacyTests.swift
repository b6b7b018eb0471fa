#if SQLite
  import Foundation
  import ReactorCore
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `What is left on the disk` {
    private let time = Time()

    /// Returns the places of the text in the files beside the database.
    private func traces(_ text: String, _ path: String) throws -> [String] {
      let directory = URL(filePath: (path as NSString).deletingLastPathComponent)
      return try neighbours(path).filter { name in
        try Data(contentsOf: directory.appending(path: name)).firstRange(of: Data(text.utf8)) != nil
      }
    }

    private func record(_ key: RecordKey, _ marker: String, _ number: Int) -> Record {
      .sample(key, String(repeating: "\(marker)-body-\(number) ", count: 1 + number % 90))
    }

    @Test func `a scope that was removed leaves none of its bytes in any file`() async throws {
      try await withDatabase { path in
        let persistence = try SQLitePersistence(path: path, now: { [time] in time.now })
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<4_000 {
            group.addTask {
              let name = ["alice", "robert"][number % 2]
              let key = RecordKey.sample("\(name)-path/\(number % 1_500)", scope: Scope("\(name)-scope"))
              try await persistence.save(record(key, name, number), for: key)
              if number % 7 == 0 { try await persistence.remove(key) }
            }
          }
          try await group.waitForAll()
        }
        #expect(try !traces("alice", path).isEmpty)
        try await persistence.removeAll(in: "alice-scope")
        #expect(try traces("alice", path) == [])
        #expect(try !traces("robert", path).isEmpty)
        try await persistence.removeAll(in: nil)
        #expect(try traces("robert", path) == [])
        #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
      }
    }

    @Test func `a database that was set aside goes with what is removed`() async throws {
      try await withDatabase { path in
        let key = RecordKey.sample("secret", scope: "alice")
        do {
          let persistence = try SQLitePersistence(path: path, now: { [time] in time.now })
          try await persistence.save(.sample(key, "alice's secret"), for: key)
        }
        try overwrite(path, at: 0, with: Data(repeating: 0x58, count: 100))
        let persistence = try SQLitePersistence(path: path, now: { [time] in time.now })
        #expect(try !traces("alice's secret", path).isEmpty)
        try await persistence.removeAll(in: "alice")
        #expect(try traces("alice's secret", path) == [])
        #expect(try neighbours(path).filter { $0.contains("corrupt") } == [])
      }
    }

    @Test func `only the owner may read any file, whatever its permissions were`() async throws {
      try await withDatabase { path in
        let directory = URL(filePath: (path as NSString).deletingLastPathComponent)
        let key = RecordKey.sample()
        try await SQLitePersistence(path: path).save(.sample(key), for: key)
        for mode in [0o644, 0o444, 0o000, 0o666] {
          try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
          let persistence = try SQLitePersistence(path: path)
          try await persistence.save(.sample(key), for: key)
          #expect(try neighbours(path) == ["", "-lock", "-shm", "-wal"].map { "records.sqlite" + $0 })
          for name in try neighbours(path) {
            #expect(try permissions(directory.appending(path: name)) == 0o600, "\(name)")
          }
          #expect(try permissions(directory) == 0o700)
          withExtendedLifetime(persistence) {}
        }
      }
    }
  }
#endif
