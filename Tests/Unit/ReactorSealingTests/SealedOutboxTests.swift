#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorConformance
  import ReactorCore
  import ReactorOutbox
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSealing

  #if SQLite
    import ReactorSQLite
  #endif

  /// A storage that does something else before one commit.
  private final class RacedStorage: OutboxStorage {
    let base: MemoryOutboxStorage
    let before = Mutex<(@Sendable () async throws -> Void)?>(nil)

    init(base: MemoryOutboxStorage) { self.base = base }

    func contents(of scope: Scope) async throws -> OutboxContents { try await base.contents(of: scope) }
    func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      let body = before.withLock { body in
        defer { body = nil }
        return body
      }
      try await body?()
      return try await base.commit(changes, in: scope)
    }
    func claim(
      _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
    ) async throws -> StoredEntry? {
      try await base.claim(id, in: scope, by: process, now: now, until: until)
    }
    func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      try await base.release(id, in: scope, by: process)
    }
    func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
  }

  @Suite(.timeLimit(.minutes(10))) struct `A sealed storage of an outbox` {
    private let keys = TestKeys()
    private let base = MemoryOutboxStorage()
    private let scope: Scope = "ada"

    private func open() -> SealedOutboxStorage { SealedOutboxStorage(base, sealing: Sealing(keys: keys)) }
    private func entry(_ text: String, lane: String = "posts") -> StoredEntry {
      StoredEntry(id: UUID(), lane: lane, bytes: Data(text.utf8))
    }
    private func stored() async throws -> OutboxContents {
      try await base.contents(of: try Sealing(keys: keys).store().scope(scope))
    }

    @Test func `keeps the contract of every storage, in files`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = keys
        try await OutboxStorageConformance(opening: {
          let place = directory.appending(path: "\(UUID().uuidString)")
          return { SealedOutboxStorage(FileOutboxStorage(directory: place), sealing: Sealing(keys: keys)) }
        }).run()
      }
    }

    @Test func `keeps the contract of every storage, in memory`() async throws {
      let keys = keys
      try await OutboxStorageConformance(opening: {
        let base = MemoryOutboxStorage()
        return { SealedOutboxStorage(base, sealing: Sealing(keys: keys)) }
      }).run()
    }

    #if SQLite
      @Test func `keeps the contract of every storage, in SQLite`() async throws {
        try await withTemporaryDirectory { directory in
          let keys = keys
          try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
          try await OutboxStorageConformance(opening: {
            let place = directory.appending(path: "\(UUID().uuidString).sqlite")
            return { SealedOutboxStorage(try SQLiteOutboxStorage(path: place.path()), sealing: Sealing(keys: keys)) }
          }).run()
        }
      }
    #endif

    @Test func `leaves nothing readable in the files but random ids`() async throws {
      // Three letters would be in hexadecimal names now and then.
      let scope: Scope = "ada lovelace"
      try await withTemporaryDirectory { directory in
        let storage = SealedOutboxStorage(FileOutboxStorage(directory: directory), sealing: Sealing(keys: keys))
        _ = try await storage.commit(
          [.add(entry("a private body", lane: "private lane")), .identify("tmp-1", Data("\"private\"".utf8))], in: scope
        )
        var all = Data()
        for file in files(in: directory) { all.append((try? Data(contentsOf: file)) ?? Data()) }
        for text in ["private", scope.name] { #expect(all.range(of: Data(text.utf8)) == nil, "\(text)") }
        #expect(!files(in: directory).map { $0.path() }.joined().contains(SHA256Digest.hex(Array(scope.name.utf8))))
      }
    }

    @Test func `shows the temporary ids in an entry to the storage beneath, which keeps them`() async throws {
      let storage = open()
      let (string, number) = (TemporaryID(), TemporaryID())
      _ = try await storage.commit([.add(entry("{\"a\":\"\(string)\",\"b\":\(number.int)}"))], in: scope)
      var held = HeldIDs()
      held.note(try #require(try await stored().entries.first).bytes)
      #expect(held.contains(string.string) && held.contains(number.string))
      #expect(!held.contains(TemporaryID().string))
    }

    @Test func `shows no text that only begins as a temporary id does`() async throws {
      let storage = open()
      let added = entry("tmp-a private text\nof a user, and what follows it; tmp-0123abcd-private")
      _ = try await storage.commit([.add(added)], in: scope)
      let bytes = try #require(try await stored().entries.first).bytes
      #expect(bytes.range(of: Data("private".utf8)) == nil)
      #expect(try await storage.contents(of: scope).entries.map(\.bytes) == [added.bytes])
    }

    @Test func `says which key is missing, and leaves no entry out`() async throws {
      try await commit(entry("1"))
      let right = keys[scope]
      keys[scope] = SealingKeys(current: SealingKey())
      let missing = SealingError.missingKey(right.current.id, scope: scope)
      let before = try await stored()
      #expect(await sealingError { _ = try await open().contents(of: scope) } == missing)
      #expect(await sealingError { _ = try await open().reseal(in: scope) } == missing)
      #expect(await sealingError { try await commit(entry("2")) } == missing)
      #expect(try await stored() == before)
      keys[scope] = right
      #expect(try await open().contents(of: scope).entries.map(\.bytes) == [Data("1".utf8)])
    }

    @Test func `says that the key of the store is wrong`() async throws {
      try await commit(entry("1"))
      let right = keys.store
      keys.store = SealingKey()
      let wrong = SealingError.wrongStoreKey(stored: right.id, given: keys.store.id)
      #expect(await sealingError { _ = try await open().contents(of: scope) } == wrong)
      #expect(await sealingError { try await commit(entry("2")) } == wrong)
      #expect(await sealingError { try await open().removeAll(in: scope) } == wrong)
      keys.store = right
      #expect(try await open().contents(of: scope).entries.count == 1)
    }

    @Test func `notices that another process has made the card under another key`() async throws {
      let other = TestKeys()
      let raced = RacedStorage(base: base)
      raced.before.withLock { [base, keys, scope] in
        $0 = {
          _ = try await SealedOutboxStorage(base, sealing: Sealing(keys: keys))
            .commit([.add(StoredEntry(id: UUID(), lane: "", bytes: Data("1".utf8)))], in: scope)
        }
      }
      let storage = SealedOutboxStorage(raced, sealing: Sealing(keys: other))
      #expect(
        await sealingError { _ = try await storage.commit([.add(entry("2"))], in: scope) }
          == .wrongStoreKey(stored: keys.store.id, given: other.store.id))
      #expect(try await open().contents(of: scope).entries.map(\.bytes) == [Data("1".utf8)])
    }

    @Test func `is sealed again only after commits that have read the keys before`() async throws {
      let held = RacedStorage(base: base)
      let storage = SealedOutboxStorage(held, sealing: Sealing(keys: keys))
      _ = try await storage.commit([.add(entry("1"))], in: scope)
      let gate = Gate()
      held.before.withLock { $0 = { try await gate.wait() } }
      let added = entry("2")
      async let committed = storage.commit([.add(added)], in: scope)
      try await gate.waitForArrival()
      let new = try keys.addKey(of: scope).id
      let waiting = Gate()
      storage.gate.notify { waiting.open() }
      async let report = storage.reseal(in: scope)
      try await waiting.wait()
      gate.open()
      _ = try await committed
      let done = try await report
      #expect(done.isComplete && done.key == new && done.resealed == 2)
      try keys.removeOlderKeys(of: scope, keeping: new)
      #expect(try await open().contents(of: scope).entries.count == 2)
    }

    private func commit(_ entry: StoredEntry) async throws { _ = try await open().commit([.add(entry)], in: scope) }

    @Test func `describes an entry and an id that were changed, keeps them, and lists the others`() async throws {
      let entries = [entry("1"), entry("2")]
      _ = try await open().commit(
        entries.map { .add($0) } + [.identify("a", Data("1".utf8)), .identify("b", Data("2".utf8))], in: scope)
      let name = try Sealing(keys: keys).store().scope(scope)
      let before = try await stored()
      var changed = before.entries[0]
      for index in changed.bytes.indices {
        changed.bytes = before.entries[0].bytes
        changed.bytes[index] ^= 0x20
        _ = try await base.commit([.update(changed)], in: name)
        do {
          let contents = try await open().contents(of: scope)
          #expect(contents.entries.map(\.bytes) == [entries[1].bytes], "byte \(index)")
          #expect(contents.setAside.count == 1)
        } catch let error as SealingError {
          // Another key's id, or a newer format.
          #expect(error.isMissingKey || error.isAltered, "byte \(index)")
        }
      }
      // Two entries, and two ids, in each other's place.
      let swapped = [
        StoredEntry(id: entries[0].id, lane: "", bytes: before.entries[1].bytes),
        StoredEntry(id: entries[1].id, lane: "", bytes: before.entries[0].bytes),
      ]
      _ = try await base.commit(
        swapped.map { .update($0) } + [
          .identify("a", before.identities["b"] ?? Data()), .identify("b", before.identities["a"] ?? Data()),
        ], in: name)
      let contents = try await open().contents(of: scope)
      #expect(contents.entries.isEmpty && contents.identities.isEmpty)
      #expect(contents.setAside.count == 4)
      #expect(try await stored().entries.count == 2)
    }

    @Test func `compares what is open, however often it is sealed again`() async throws {
      let storage = open()
      let entries = (0..<5).map { entry("\($0)") }
      _ = try await storage.commit(entries.map { .add($0) } + [.identify("a", Data("7".utf8))], in: scope)
      let claimed = try await storage.claim(entries[0].id, in: scope, by: UUID(), now: .now, until: .now + 30)
      #expect(claimed?.bytes == entries[0].bytes)
      try keys.addKey(of: scope)
      let other = open()
      let report = try await other.reseal(in: scope)
      #expect(report.resealed == 6 && report.isComplete)
      // The storage only knows the old bytes.
      var changed = entries[0]
      changed.bytes = Data("changed".utf8)
      _ = try await storage.commit([.require(entries[0]), .update(changed)], in: scope)
      await #expect(throws: OutboxStorageError.changedEntry(changed.id)) {
        try await storage.commit([.require(entries[0])], in: scope)
      }
      storage.sealing.reload()
      // The commit has sealed with the older key again.
      #expect(try await other.reseal(in: scope).resealed == 1)
      try keys.removeOlderKeys(of: scope, keeping: keys[scope].current.id)
      let contents = try await other.contents(of: scope)
      #expect(contents.entries.map(\.bytes) == [changed.bytes] + entries.dropFirst().map(\.bytes))
      #expect(contents.identities == ["a": Data("7".utf8)])
      #expect(contents.leases.count == 1)
    }
  }
#endif
