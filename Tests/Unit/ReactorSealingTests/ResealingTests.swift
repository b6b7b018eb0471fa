#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  @testable import ReactorSealing

  /// A persistence that stops before the save of a record.
  private final class HeldSaves: Persistence {
    let base = MemoryPersistence()
    /// Called before each save, with the number of saves before it.
    let before = Mutex<(@Sendable (RecordKey, Int) async throws -> Void)?>(nil)
    private let count = Mutex(0)

    func load(_ key: RecordKey) async throws -> Record? { try await base.load(key) }
    func save(_ record: Record, for key: RecordKey) async throws {
      let number = count.withLock { count in
        defer { count += 1 }
        return count
      }
      try await before.withLock { $0 }?(key, number)
      try await base.save(record, for: key)
    }
    func remove(_ key: RecordKey) async throws { try await base.remove(key) }
    func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
    func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
      try await base.entries(in: scope, url: url)
    }
  }

  /// Keys of which one read lasts until something else has happened.
  private final class InterruptedKeys: SealingKeyProvider {
    let keys: TestKeys
    let meanwhile = Mutex<(@Sendable () throws -> Void)?>(nil)

    init(keys: TestKeys) { self.keys = keys }

    func storeKey() throws -> SealingKey { try keys.storeKey() }
    func keys(of scope: Scope) throws -> SealingKeys {
      let found = try keys.keys(of: scope)
      let body = meanwhile.withLock { body in
        defer { body = nil }
        return body
      }
      try body?()
      return found
    }
  }

  @Suite(.timeLimit(.minutes(5))) struct `A rotation of keys` {
    private let keys = TestKeys()
    private let base = HeldSaves()
    private let scope: Scope = "ada"

    private func open() -> SealedPersistence { SealedPersistence(base, sealing: Sealing(keys: keys)) }
    private func key(_ index: Int) -> RecordKey { .sample("\(index)", scope: scope) }

    private func fill(_ store: SealedPersistence, _ count: Int) async throws {
      for index in 0..<count { try await store.save(.sample(key(index), "\(index)"), for: key(index)) }
    }

    private func expectAll(_ count: Int, in store: SealedPersistence) async throws {
      for index in 0..<count {
        #expect(try await store.load(key(index))?.body == Data("\(index)".utf8))
      }
      #expect(try await store.entries(in: scope, url: nil).count == count)
    }

    @Test func `reads with the older keys, writes with the new one, and then needs no other`() async throws {
      let store = open()
      try await fill(store, 20)
      let old = keys[scope].current.id
      try keys.addKey(of: scope)
      store.sealing.reload()
      try await expectAll(20, in: store)
      try await store.save(.sample(key(0), "0"), for: key(0))
      let report = try await store.reseal(in: scope)
      #expect(report.resealed == 19)
      #expect(report.isComplete && report.altered.isEmpty)
      try keys.removeOlderKeys(of: scope, keeping: keys[scope].current.id)
      #expect(keys[scope].current.id != old)
      let fresh = open()
      try await expectAll(20, in: fresh)
      try await fresh.save(.sample(key(1), "1"), for: key(1))
      #expect(try await fresh.reseal(in: scope).resealed == 0)
    }

    @Test func `is noticed by a store that has not read the keys again`() async throws {
      let (one, two) = (open(), open())
      try await fill(one, 2)
      try await expectAll(2, in: two)
      try keys.addKey(of: scope)
      one.sealing.reload()
      #expect(try await one.reseal(in: scope).isComplete)
      try await expectAll(2, in: two)
    }

    @Test func `continues after an interruption, and loses nothing`() async throws {
      let store = open()
      try await fill(store, 10)
      try keys.addKey(of: scope)
      store.sealing.reload()
      // The card is the first save of the pass.
      base.before.withLock { $0 = { _, number in if number >= 12 + 5 { throw Broken() } } }
      await #expect(throws: Broken.self) { try await store.reseal(in: scope) }
      base.before.withLock { $0 = nil }
      try await expectAll(10, in: store)
      let report = try await open().reseal(in: scope)
      #expect((1...9).contains(report.resealed) && report.isComplete)
      try keys.removeOlderKeys(of: scope, keeping: keys[scope].current.id)
      try await expectAll(10, in: open())
    }

    @Test func `does not touch a record that was changed, and keeps the older keys needed`() async throws {
      let store = open()
      try await fill(store, 3)
      let entry = try #require(
        try await base.entries(in: nil, url: nil).first { $0.key.scope != SealCard.scope })
      var record = try #require(try await base.load(entry.key))
      record.body[record.body.count - 1] ^= 1
      try await base.save(record, for: entry.key)
      try keys.addKey(of: scope)
      store.sealing.reload()
      let report = try await store.reseal(in: scope)
      #expect(report.resealed == 2)
      #expect(report.altered.count == 1 && !report.isComplete)
      #expect(try await base.load(entry.key) == record)
    }

    @Test func `waits for a save that has read the keys before`() async throws {
      let store = open()
      try await fill(store, 1)
      let gate = Gate()
      let name = try store.name(of: key(1), in: store.sealing.store())
      base.before.withLock { [base] in
        $0 = { key, _ in
          guard key == name else { return }
          base.before.withLock { $0 = nil }
          try await gate.wait()
        }
      }
      async let saved: Void = store.save(.sample(key(1), "1"), for: key(1))
      try await gate.waitForArrival()
      // Without a reload: the pass reads the keys itself.
      let new = try keys.addKey(of: scope).id
      let waiting = Gate()
      store.gate.notify { waiting.open() }
      async let report = store.reseal(in: scope)
      try await waiting.wait()
      gate.open()
      try await saved
      let done = try await report
      #expect(done.isComplete && done.key == new && done.resealed == 2)
      try keys.removeOlderKeys(of: scope, keeping: new)
      try await expectAll(2, in: open())
    }

    @Test(arguments: [true, false])
    func `is not forgotten because of a read of the keys that began before it`(reloads: Bool) throws {
      let provider = InterruptedKeys(keys: keys)
      let sealing = Sealing(keys: provider)
      provider.meanwhile.withLock { [keys, scope] in
        $0 = {
          try keys.addKey(of: scope)
          if reloads { sealing.reload() } else { _ = try sealing.keys(of: scope, read: true) }
        }
      }
      let old = keys[scope].current.id
      #expect(try sealing.keys(of: scope).current.id == old)
      #expect(keys[scope].current.id != old)
      #expect(try sealing.keys(of: scope).current.id == keys[scope].current.id)
    }

    @Test func `never undoes a save that begins while its record is sealed again`() async throws {
      let store = open()
      try await fill(store, 1)
      try keys.addKey(of: scope)
      store.sealing.reload()
      let gate = Gate()
      let name = try store.name(of: key(0), in: store.sealing.store())
      base.before.withLock { [base] in
        $0 = { key, _ in
          guard key == name else { return }
          base.before.withLock { $0 = nil }
          try await gate.wait()
        }
      }
      async let report = store.reseal(in: scope)
      try await gate.waitForArrival()
      let waiting = Gate()
      store.gate.notify { waiting.open() }
      async let saved: Void = store.save(.sample(key(0), "new"), for: key(0))
      try await waiting.wait()
      gate.open()
      try await saved
      #expect(try await report.resealed == 1)
      #expect(try await store.load(key(0))?.body == Data("new".utf8))
    }

    @Test func `never brings back a scope that is removed while a record is sealed again`() async throws {
      let store = open()
      try await fill(store, 1)
      try keys.addKey(of: scope)
      store.sealing.reload()
      let gate = Gate()
      let name = try store.name(of: key(0), in: store.sealing.store())
      base.before.withLock {
        $0 = { key, _ in if key == name { try await gate.wait() } }
      }
      async let report = store.reseal(in: scope)
      try await gate.waitForArrival()
      let waiting = Gate()
      store.gate.notify { waiting.open() }
      async let removed: Void = store.removeAll(in: scope)
      try await waiting.wait()
      gate.open()
      try await removed
      _ = try await report
      #expect(try await store.entries(in: nil, url: nil).isEmpty)
    }

    @Test func `runs beside many saves and removals, each of which counts`() async throws {
      let store = open()
      try await fill(store, 40)
      try keys.addKey(of: scope)
      store.sealing.reload()
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { _ = try await store.reseal(in: scope) }
        for index in 0..<40 {
          group.addTask {
            for round in 0..<5 {
              try await store.save(.sample(key(index), "\(index) \(round)"), for: key(index))
              #expect(try await store.load(key(index))?.body == Data("\(index) \(round)".utf8))
            }
            if index.isMultiple(of: 4) { try await store.remove(key(index)) }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await store.reseal(in: scope).isComplete)
      try keys.removeOlderKeys(of: scope, keeping: keys[scope].current.id)
      for index in 0..<40 {
        let expected = index.isMultiple(of: 4) ? nil : Data("\(index) 4".utf8)
        #expect(try await open().load(key(index))?.body == expected)
      }
    }
  }
#endif
