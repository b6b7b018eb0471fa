import Foundation
import HTTPCaching
import Testing

@Suite("Memory with a limit")
struct MemoryLimitTests {
  private func key(_ number: Int, scope: Scope = .shared) -> RecordKey {
    RecordKey(method: .get, url: "https://api.example.com/\(number)", scope: scope)
  }

  private func record(_ key: RecordKey, bytes: Int) -> Record {
    Record(
      head: Record.Head(
        identity: key.identity, status: .ok, fields: [:], requestedAt: .distantPast, receivedAt: .distantPast),
      body: Data(repeating: 1, count: bytes))
  }

  @Test func `what was used least recently makes room`() async throws {
    let store = MemoryPersistence(limit: 8 * 1_512)
    for number in 0..<8 { try await store.save(record(key(number), bytes: 1_000), for: key(number)) }
    #expect(store.size == 8 * 1_512)
    _ = try await store.load(key(0))
    try await store.save(record(key(8), bytes: 1_000), for: key(8))
    #expect(store.size <= 8 * 1_512)
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

  @Test func `the size is that of what is there`() async throws {
    let store = MemoryPersistence(limit: 100_000)
    for scope in ["a", "b"] as [Scope] {
      for number in 0..<4 {
        let key = key(number, scope: scope)
        try await store.save(record(key, bytes: 100), for: key)
        try await store.save(record(key, bytes: 200), for: key)
      }
    }
    #expect(store.size == 8 * 712)
    try await store.remove(key(0, scope: "a"))
    try await store.remove(key(0, scope: "a"))
    #expect(store.size == 7 * 712)
    try await store.removeAll(in: "a")
    #expect(store.size == 4 * 712)
    try await store.removeAll(in: nil)
    #expect(store.size == 0)
  }
}
