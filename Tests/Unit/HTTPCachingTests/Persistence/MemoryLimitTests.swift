import Foundation
import HTTPCaching
import HTTPTypes
import Testing

@Suite("Memory with a limit")
struct MemoryLimitTests {
  private func key(_ number: Int, scope: Scope = .shared) -> RecordKey {
    RecordKey(method: .get, url: "https://api.example.com/\(number)", scope: scope)
  }

  private func record(_ key: RecordKey, bytes: Int, fields: HTTPFields = [:]) -> Record {
    Record(
      head: Record.Head(
        identity: key.identity, status: .ok, fields: fields, requestedAt: .distantPast, receivedAt: .distantPast),
      body: Data(repeating: 1, count: bytes))
  }

  private func size(of record: Record, _ key: RecordKey) async throws -> Int {
    let store = MemoryPersistence()
    try await store.save(record, for: key)
    return store.size
  }

  @Test func `fields and URLs count, not only the bodies`() async throws {
    let small = try await size(of: record(key(1), bytes: 0), key(1))
    #expect(small > 350)
    #expect(try await size(of: record(key(1), bytes: 1_000), key(1)) == small + 1_000)
    let long = RecordKey(method: .get, url: key(1).url + String(repeating: "1", count: 1_000), scope: .shared)
    #expect(try await size(of: record(long, bytes: 0), long) == small + 1_000)
    // A field takes 120 bytes, plus twice its own bytes.
    let fields: HTTPFields = [.eTag: String(repeating: "1", count: 1_000)]
    #expect(try await size(of: record(key(1), bytes: 0, fields: fields), key(1)) == small + 120 + 2 * 1_004)
  }

  @Test func `the least recently used record makes room`() async throws {
    let each = try await size(of: record(key(0), bytes: 1_000), key(0))
    let store = MemoryPersistence(limit: 8 * each)
    for number in 0..<8 { try await store.save(record(key(number), bytes: 1_000), for: key(number)) }
    #expect(store.size == 8 * each)
    _ = try await store.load(key(0))
    try await store.save(record(key(8), bytes: 1_000), for: key(8))
    #expect(store.size <= 8 * each)
    for number in [0, 8] { #expect(try await store.load(key(number)) != nil) }
    #expect(try await store.load(key(1)) == nil)
  }

  @Test func `a record that is larger than the limit is not stored, and removes no other`() async throws {
    let store = MemoryPersistence(limit: 4_000)
    try await store.save(record(key(0), bytes: 1_000), for: key(0))
    try await store.save(record(key(1), bytes: 5_000), for: key(1))
    #expect(try await store.load(key(1)) == nil)
    #expect(try await store.load(key(0)) != nil)
  }

  @Test func `the size is the sum of what is stored`() async throws {
    let each = try await size(of: record(key(0, scope: "a"), bytes: 200), key(0, scope: "a"))
    let store = MemoryPersistence(limit: 100_000)
    for scope in ["a", "b"] as [Scope] {
      for number in 0..<4 {
        let key = key(number, scope: scope)
        try await store.save(record(key, bytes: 100), for: key)
        try await store.save(record(key, bytes: 200), for: key)
      }
    }
    #expect(store.size == 8 * each)
    try await store.remove(key(0, scope: "a"))
    try await store.remove(key(0, scope: "a"))
    #expect(store.size == 7 * each)
    try await store.removeAll(in: "a")
    #expect(store.size == 4 * each)
    try await store.removeAll(in: nil)
    #expect(store.size == 0)
  }
}
