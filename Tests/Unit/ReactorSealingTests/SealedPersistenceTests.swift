#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorConformance
  import ReactorCore
  import ReactorTesting
  import TestSupport
  import Testing

  @testable import ReactorSealing

  #if SQLite
    import ReactorSQLite
  #endif

  @Suite(.timeLimit(.minutes(10))) struct `A sealed persistence` {
    let keys = TestKeys()
    let base = MemoryPersistence()
    let key = RecordKey.sample("articles", scope: "ada")

    private func open() -> SealedPersistence { SealedPersistence(base, sealing: Sealing(keys: keys)) }

    @Test func `keeps the contract of every persistence, in files`() async throws {
      try await withTemporaryDirectory { directory in
        let keys = keys
        try await PersistenceConformance(opening: {
          let place = directory.appending(path: "\(UUID().uuidString)")
          return { SealedPersistence(FilePersistence(directory: place), sealing: Sealing(keys: keys)) }
        }).run()
      }
    }

    @Test func `keeps the contract of every persistence, in memory`() async throws {
      let keys = keys
      try await PersistenceConformance(opening: {
        let base = MemoryPersistence()
        return { SealedPersistence(base, sealing: Sealing(keys: keys)) }
      }).run()
    }

    #if SQLite
      @Test func `keeps the contract of every persistence, in SQLite`() async throws {
        try await withTemporaryDirectory { directory in
          let keys = keys
          try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
          try await PersistenceConformance(opening: {
            let place = directory.appending(path: "\(UUID().uuidString).sqlite")
            return { SealedPersistence(try SQLitePersistence(path: place.path()), sealing: Sealing(keys: keys)) }
          }).run()
        }
      }
    #endif

    @Test func `leaves nothing readable in the files, and no plain digest`() async throws {
      // Three letters would be in hexadecimal names now and then.
      let key = RecordKey.sample("articles", scope: "ada lovelace")
      try await withTemporaryDirectory { directory in
        let store = SealedPersistence(FilePersistence(directory: directory), sealing: Sealing(keys: keys))
        var record = Record.sample(key, "a very private body")
        record.head.fields[.eTag] = "\"private-tag\""
        record.head.join(["private-group"])
        try await store.save(record, for: key)
        #expect(try await store.load(key)?.body == record.body)
        let found = files(in: directory).filter { !$0.hasDirectoryPath }
        var all = Data()
        for file in found { all.append((try? Data(contentsOf: file)) ?? Data()) }
        all.append(contentsOf: found.map { $0.path() }.joined().utf8)
        for text in [
          "private", "articles", "lovelace", "json", "https", key.digest, SHA256Digest.hex(Array(key.scope.name.utf8)),
          SHA256Digest.hex(Array(key.url.utf8)),
        ] { #expect(all.range(of: Data(text.utf8)) == nil, "\(text)") }
      }
    }

    @Test func `finds a change of each byte of a record`() async throws {
      let store = open()
      try await store.save(.sample(key), for: key)
      let entry = try #require(try await sealedEntries().first)
      let stored = try #require(try await base.load(entry.key))
      for index in stored.body.indices {
        var changed = stored
        changed.body[index] ^= 0x10
        try await expectAltered(changed, entry.key)
      }
      for count in 0..<stored.body.count {
        try await expectAltered(Record(head: stored.head, body: stored.body.prefix(count)), entry.key)
      }
      let field = try #require(stored.head.fields[CacheGroups.members])
      for index in field.utf8.indices where field[index].isLetter {
        var changed = stored
        changed.head.fields[CacheGroups.members] = field.replacingCharacters(
          in: index..<field.index(after: index), with: field[index] == "A" ? "B" : "A")
        try await expectAltered(changed, entry.key)
      }
      try await base.save(stored, for: entry.key)
      #expect(try await store.load(key)?.body == Record.sample(key).body)
    }

    private func expectAltered(_ record: Record, _ name: RecordKey) async throws {
      try await base.save(record, for: name)
      let error = await sealingError { _ = try await open().load(key) }
      // A changed id is the id of a missing key.
      #expect(error.map { $0.isAltered || $0.isMissingKey } == true)
    }

    private func sealedEntries() async throws -> [Record.Entry] {
      try await base.entries(in: nil, url: nil).filter { $0.key.scope != SealCard.scope }
    }

    @Test func `refuses the sealed bytes of another key, of another scope, and of another time`() async throws {
      let store = open()
      let other = RecordKey.sample("other", scope: "ada")
      let foreign = RecordKey.sample("articles", scope: "bob")
      // The same keys for both scopes, so that only the place differs.
      keys["bob"] = keys["ada"]
      for key in [key, other, foreign] { try await store.save(.sample(key, key.identity), for: key) }
      let names = try [key, other, foreign].map { try store.name(of: $0, in: try Sealing(keys: keys).store()) }
      let records = try await names.asyncMap { try #require(try await base.load($0)) }
      for index in 1...2 {
        var moved = records[index]
        moved.head.identity = names[0].identity
        try await expectAltered(moved, names[0])
      }
      try await base.save(records[0], for: names[0])
      // The head of one save with the body of another.
      try await store.save(.sample(key, "again"), for: key)
      var mixed = try #require(try await base.load(names[0]))
      mixed.body = records[0].body
      try await expectAltered(mixed, names[0])
    }

    @Test func `says which key is missing, and loses nothing until it is back`() async throws {
      try await open().save(.sample(key), for: key)
      let right = keys["ada"]
      keys["ada"] = SealingKeys(current: SealingKey())
      let before = try await sealedEntries().asyncMap { try await base.load($0.key) }
      let store = open()
      let missing = SealingError.missingKey(right.current.id, scope: "ada")
      #expect(await sealingError { _ = try await store.load(key) } == missing)
      #expect(await sealingError { try await store.save(.sample(key, "new"), for: key) } == missing)
      #expect(
        await sealingError {
          try await store.save(.sample(.sample("b", scope: "ada")), for: .sample("b", scope: "ada"))
        } == missing)
      #expect(await sealingError { _ = try await store.entries(in: nil, url: nil) } == missing)
      #expect(await sealingError { _ = try await store.entries(in: "ada", url: key.url) } == missing)
      #expect(await sealingError { _ = try await store.reseal(in: "ada") } == missing)
      #expect(missing.description.contains("give the key back"))
      #expect(try await sealedEntries().asyncMap { try await base.load($0.key) } == before)
      // Another scope is not concerned.
      let other = RecordKey.sample(scope: "bob")
      try await store.save(.sample(other), for: other)
      #expect(try await store.load(other) != nil)
      keys["ada"] = right
      #expect(try await open().load(key)?.body == Record.sample(key).body)
    }

    @Test func `says that the key of the store is wrong, also after the card was evicted`() async throws {
      try await open().save(.sample(key), for: key)
      let right = keys.store
      keys.store = SealingKey()
      let wrong = SealingError.wrongStoreKey(stored: right.id, given: keys.store.id)
      for _ in 0..<2 {
        let store = open()
        #expect(await sealingError { _ = try await store.load(key) } == wrong)
        #expect(await sealingError { try await store.save(.sample(key), for: key) } == wrong)
        #expect(await sealingError { try await store.remove(key) } == wrong)
        #expect(await sealingError { try await store.removeAll(in: "ada") } == wrong)
        #expect(await sealingError { _ = try await store.entries(in: nil, url: nil) } == wrong)
        try await base.removeAll(in: SealCard.scope)
      }
      keys.store = right
      #expect(try await open().load(key) != nil)
      keys.store = SealingKey()
      let store = open()
      try await store.removeAll(in: nil)
      try await store.save(.sample(key), for: key)
      #expect(try await store.load(key) != nil)
    }

    @Test func `notices a missing key also after the cards were evicted`() async throws {
      try await open().save(.sample(key), for: key)
      let right = keys["ada"]
      keys["ada"] = SealingKeys(current: SealingKey())
      try await base.removeAll(in: SealCard.scope)
      #expect(
        await sealingError { try await open().save(.sample(key, "new"), for: key) }
          == .missingKey(right.current.id, scope: "ada"))
    }

    @Test func `passes the errors of a locked provider on, and works once it is unlocked`() async throws {
      let store = open()
      keys.isLocked = true
      await #expect(throws: TestKeys.Locked.self) { try await store.load(key) }
      await #expect(throws: TestKeys.Locked.self) { try await store.save(.sample(key), for: key) }
      #expect(store.secretKey() == nil)
      keys.isLocked = false
      try await store.save(.sample(key), for: key)
      #expect(try await store.load(key) != nil)
      #expect(store.secretKey() != nil)
      #expect(store.secretKey() == open().secretKey())
    }

    @Test func `removes a scope whose keys are gone`() async throws {
      try await open().save(.sample(key), for: key)
      try keys.removeKeys(of: "ada")
      let store = open()
      #expect(await sealingError { _ = try await store.load(key) }?.isMissingKey == true)
      try await store.removeAll(in: "ada")
      #expect(try await store.load(key) == nil)
      try await store.save(.sample(key), for: key)
      #expect(try await store.load(key) != nil)
      #expect(try await sealedEntries().count == 1)
    }

    @Test func `lists groups, URLs and freshness, so that invalidations find their records`() async throws {
      let cache = HTTPCache(persistence: open())
      for (path, group) in [("a", "red"), ("b", "blue")] {
        var record = Record.sample(.sample(path, scope: "ada"))
        record.head.fields[.cacheControl] = "max-age=60"
        record.head.join([group])
        try await cache.store(record, for: .sample(path, scope: "ada"))
      }
      #expect(try await cache.keys(ofGroups: ["red"], in: "ada") == [.sample("a", scope: "ada")])
      #expect(try await cache.keys(ofGroups: ["blue"], in: nil) == [.sample("b", scope: "ada")])
      #expect(try await cache.keys(of: "https://api.example.com/b", in: nil) == [.sample("b", scope: "ada")])
      let entries = try await open().entries(in: "ada", url: nil)
      #expect(entries.allSatisfy { $0.freshUntil != nil && $0.groups?.count == 1 })
      try await cache.invalidate(.sample("a", scope: "ada"), at: Date())
      #expect(try await cache.lookUp(.sample("a", scope: "ada"))?.head.invalidatedAt != nil)
    }

    @Test func `serves a layer, whose values are read again by the next launch`() async throws {
      let transport = ScriptedTransport { _, _ in .json("[1,2]") }
      let resource = Resource("numbers")
      let layer = ModelLayer(
        baseURL: URL(string: "https://api.example.com/") ?? .temporaryDirectory, transport: transport,
        persistence: open(), scope: "ada")
      #expect(try await layer.reactor([Int].self).fetch(resource) == [1, 2])
      let again = ModelLayer(
        baseURL: URL(string: "https://api.example.com/") ?? .temporaryDirectory, transport: transport,
        persistence: open(), scope: "ada")
      #expect(try await again.reactor([Int].self).fetch(resource, policy: .cacheOnly) == [1, 2])
    }
  }

  extension Sequence {
    func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
      var values: [Value] = []
      for element in self { values.append(try await body(element)) }
      return values
    }
  }
#endif
