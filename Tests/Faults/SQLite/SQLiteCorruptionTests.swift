#if SQLite
  import Foundation
  import ReactorCore
  import ReactorSQLite
  import ReactorTesting
  import TestSupport
  import Testing

  @Suite(.timeLimit(.minutes(5))) struct `SQLite on damaged files` {
    private static let numbers = 0..<8

    @Test(arguments: ["", "-wal"])
    func `random damage is never a crash, never a wrong record, and never the end of the store`(
      _ suffix: String
    ) async throws {
      let seed = Chance.seed("Damaged database\(suffix)")
      var generator = SeededGenerator(seed: seed)
      let files = try await Self.files(withLog: suffix == "-wal")
      var seen = Seen()
      for round in 0..<Chance.count("REACTOR_FLIPS", default: 150, thorough: 1_000) {
        try await withTemporaryDirectory { directory in
          try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
          let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
          for (name, bytes) in files {
            let bytes = name == suffix ? Self.damage(bytes, &generator) : bytes
            try bytes.write(to: URL(filePath: path + name))
          }
          do {
            let store = try SQLitePersistence(path: path)
            await seen.look(at: store)
            #expect(try await Self.goesOn(store), "round \(round), REACTOR_SEED=\(seed)")
          } catch {
            seen.unusable.append("round \(round): \(error)")
          }
        }
      }
      print("Damaged database\(suffix): \(seen)")
      #expect(seen.wrong == 0 && seen.untyped.isEmpty, "REACTOR_SEED=\(seed)")
      #expect(seen.new > 0 && seen.old + seen.missing > 0)
      #expect(seen.unusable.isEmpty, "REACTOR_SEED=\(seed)")
    }

    @Test func `a header that forbids writing is damage, where the file does not`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        for (name, bytes) in try await Self.files(withLog: false) {
          var bytes = bytes
          // The format's write version, in SQLite's words.
          if name.isEmpty { bytes[18] = 3 }
          try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
          try bytes.write(to: URL(filePath: path + name))
        }
        #expect(try await Self.goesOn(try SQLitePersistence(path: path)))
        #expect(!setAside(path).isEmpty)
      }
    }

    @Test func `verify reports damage since the database was opened, and changes nothing`() async throws {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        let damaged = try SQLitePersistence(path: path)
        let written = WrittenRecord(number: 3, version: 1)
        try await damaged.save(written.record, for: written.key)
        try await damaged.compact()
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: 100)
        try file.write(contentsOf: Data(repeating: 0xA5, count: 400))
        try file.close()
        #expect(try await damaged.verify().map(\.place) == [path])
        #expect(setAside(path).isEmpty)
      }
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        let removed = try SQLitePersistence(path: path)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        #expect(try await removed.verify().isEmpty)
      }
    }

    /// Returns true if a save succeeds and is stored; the next load reports the damage. In an index
    /// that is out of order, SQLite may miss the record that it has just stored: only
    /// ``SQLitePersistence/verify()`` finds that.
    private static func goesOn(_ store: SQLitePersistence) async throws -> Bool {
      _ = try await store.entries(in: nil, url: nil)
      let written = WrittenRecord(number: 3, version: 3)
      try await store.save(written.record, for: written.key)
      if let record = try? await store.load(written.key) { return record == written.record }
      if let record = try await store.load(written.key) { return record == written.record }
      return try await !store.verify().isEmpty
    }

    private struct Seen {
      var (new, old, missing, wrong, failed) = (0, 0, 0, 0, 0)
      var untyped: [String] = []
      var unusable: [String] = []

      mutating func look(at store: SQLitePersistence) async {
        for number in numbers {
          do {
            let record = try await store.load(WrittenRecord(number: number, version: 0).key)
            switch record.map({ WrittenRecord($0, number: number)?.version }) {
            case nil: missing += 1
            case 2: new += 1
            case 1: old += 1
            default: wrong += 1
            }
          } catch {
            failed += 1
            if !(error is Record.Failure || error is SQLitePersistenceError) { untyped.append("\(error)") }
          }
        }
      }
    }

    /// The bytes of the database, by the suffix of the file: with version 2 of each record in the
    /// log, or in the database.
    private static func files(withLog: Bool) async throws -> [String: Data] {
      try await withTemporaryDirectory { directory in
        let path = directory.appending(path: "records.sqlite").path(percentEncoded: false)
        for version in [1, 2] {
          let store = try SQLitePersistence(path: path)
          for number in numbers {
            let written = WrittenRecord(number: number, version: version)
            try await store.save(written.record, for: written.key)
          }
          if withLog, version == 2 {
            defer { withExtendedLifetime(store) {} }
            return try ["", "-wal"].reduce(into: [:]) { $0[$1] = try Data(contentsOf: URL(filePath: path + $1)) }
          }
        }
        return ["": try Data(contentsOf: URL(filePath: path))]
      }
    }

    /// A few bytes, a sector of nothing, or the end gone; at times in the first page, which rules
    /// all others.
    private static func damage(_ bytes: Data, _ generator: inout SeededGenerator) -> Data {
      var bytes = bytes
      let range = Bool.random(using: &generator) ? 0..<min(4_096, bytes.count) : bytes.indices
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        let start = Int.random(in: range, using: &generator) / 512 * 512
        bytes.resetBytes(in: start..<min(start + 512, bytes.count))
      case 1: bytes = bytes.prefix(Int.random(in: range, using: &generator))
      default:
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          bytes[Int.random(in: range, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
      }
      return bytes
    }
  }
#endif
