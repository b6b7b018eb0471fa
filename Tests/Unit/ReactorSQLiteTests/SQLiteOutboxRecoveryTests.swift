#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching
  import ReactorCore
  import ReactorConformance
  import ReactorTesting
  import ReactorOutbox
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSQLite

  @Suite struct `Taking over the rows of an outbox's damaged database` {
    private static let count = 60

    /// Entries of 500 bytes each, the last of them still in `-wal`. A few pages in the midst of the
    /// database are overwritten.
    ///
    /// - Returns: The texts of the entries that can be read.
    private func makeDamaged(_ path: String) async throws -> [String] {
      let directory = URL(filePath: path).deletingLastPathComponent().appending(path: "others")
      let (live, control) = (directory.appending(path: "live").path(), directory.appending(path: "control").path())
      do {
        let storage = try SQLiteOutboxStorage(path: live)
        let entries = (0..<Self.count).map { entry("\($0) " + String(repeating: "x", count: 500)) }
        _ = try await storage.commit(entries.map { .add($0) }, in: .shared)
        _ = try storage.database.manage { try $0.checkpoint(.truncate) }
        _ = try await storage.commit([.add(entry("in the log"))], in: .shared)
        // The files as a process leaves them that ends without closing them.
        for copy in [path, control] {
          for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: live + suffix, toPath: copy + suffix) }
          try damage(copy)
        }
      }
      let contents = try await SQLiteOutboxStorage(path: control).contents(of: .shared)
      try #require(contents.setAside.count == 1 && contents.texts.count > 20 && contents.texts.count < Self.count)
      try #require(contents.texts.last == "in the log")
      return contents.texts
    }

    private func damage(_ path: String) throws {
      try overwrite(path, at: try size(path) / 2 / 4_096 * 4_096, with: Data(repeating: 0xA5, count: 3 * 4_096))
    }

    @Test(arguments: [false, true])
    func `whichever call of it fails, it is made up for, and no row is lost`(_ persists: Bool) async throws {
      var index = 0
      while true {
        let isDone = try await withOutbox { path in
          try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
          let texts = try await makeDamaged(path)
          let calls = Mutex(0)
          let files = FileSystem { [index] _, _ in
            let call = calls.withLock { calls in
              defer { calls += 1 }
              return calls
            }
            return call == index || persists && call > index ? .error(EIO) : nil
          }
          // Its errors are judged elsewhere.
          let storage = try? SQLiteOutboxStorage(path: path, system: SQLiteSystem(files: files), now: { Date() })
          let contents = try? await storage?.contents(of: .shared)
          #expect(contents == nil || contents?.texts == texts, "call \(index)")
          let later = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
          #expect(later.texts == texts && later.setAside.count == 1, "call \(index)")
          return calls.withLock { $0 } <= index
        }
        if isDone { break }
        index += 1
      }
      #expect(index > 20)
    }

    @Test func `a process that ended in the midst of it is made up for`() async throws {
      try await withOutbox { path in
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        let texts = try await makeDamaged(path)
        // Only the first of the files was renamed.
        try FileManager.default.moveItem(atPath: path, toPath: SQLiteFiles(path).unadoptedPath)
        let storage = try SQLiteOutboxStorage(path: path)
        #expect(try await storage.contents(of: .shared).texts == texts)
        #expect(try await storage.commit([.add(entry("next"))], in: .shared) == [UInt64(Self.count) + 2])
        // It is taken over once.
        let removed = try await storage.contents(of: .shared).entries[0]
        _ = try await storage.commit([.remove(removed.id)], in: .shared)
        let contents = try await SQLiteOutboxStorage(path: path).contents(of: .shared)
        #expect(contents.texts == texts.dropFirst() + ["next"] && contents.setAside.count == 1)
      }
    }

    /// The other process copies the commit with the rows of the database that it replaces.
    @Test func `a commit that another process took over is not an error`() async throws {
      try await withOutbox { path in
        let other = Mutex<SQLiteOutboxStorage?>(nil)
        // The second look at the database is the one after the commit.
        let looks = Mutex(0)
        let files = FileSystem { operation, name in
          guard operation == .inspect, name == path, other.withLock({ $0 != nil }) else { return nil }
          let look = looks.withLock { looks in
            looks += 1
            return looks
          }
          guard look == 2, let other = other.withLock({ $0 }) else { return nil }
          try? damage(path)
          _ = try? other.database.manage { try SQLiteOutboxRows(.shared, $0).contents() }
          return nil
        }
        do {
          let entries = (0..<Self.count).map { entry("\($0) " + String(repeating: "x", count: 500)) }
          _ = try await SQLiteOutboxStorage(path: path).commit(entries.map { .add($0) }, in: .shared)
        }
        let storage = try SQLiteOutboxStorage(path: path, system: SQLiteSystem(files: files), now: { Date() })
        let second = try SQLiteOutboxStorage(path: path)
        other.withLock { $0 = second }
        let (new, newer) = (entry("new"), entry("newer"))
        let numbers = try await storage.commit([.add(new), .add(newer)], in: .shared)
        #expect(numbers == [UInt64(Self.count) + 1, UInt64(Self.count) + 2])
        #expect(looks.withLock { $0 } > 2)
        let contents = try await storage.contents(of: .shared)
        #expect(contents.texts.suffix(2) == ["new", "newer"] && contents.setAside.count == 1)
        await #expect(throws: OutboxStorageError.duplicateEntry(new.id)) {
          try await storage.commit([.add(new)], in: .shared)
        }
      }
    }

    @Test func `removing everything deletes damaged databases, even while another process reads`() async throws {
      try await withOutbox { path in
        try FileManager.default.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        _ = try await makeDamaged(path)
        let system = SQLiteSystem(lockWait: .zero)
        let storage = try SQLiteOutboxStorage(path: path, system: system, now: { Date() })
        #expect(try await storage.contents(of: .shared).setAside.count == 1)
        let reader = try LockHolder(path, mode: "BEGIN; SELECT count(*) FROM outbox_entry")
        await #expect(throws: OutboxStorageError.locked(path: path)) { try await storage.removeAll(in: .shared) }
        #expect(try damagedNames(path).isEmpty)
        #expect(try await storage.contents(of: .shared).withoutIdentity == OutboxContents())
        try reader.release()
        try await storage.removeAll(in: .shared)
      }
    }
  }
#endif
