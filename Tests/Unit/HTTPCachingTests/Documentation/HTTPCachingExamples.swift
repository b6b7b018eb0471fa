import Foundation
import HTTPCaching
import Testing

// The Swift code of HTTPCaching.docc, which a test compares with it.

/// Describes what is stored for a URL.
func summary(of url: String, in cache: HTTPCache) async throws -> String {
  let key = RecordKey(method: .get, url: url)
  guard let record = try await cache.lookUp(key) else { return "not stored" }
  return "\(record.body.count) bytes, fresh until \(record.head.freshUntil?.description ?? "an unstated time")"
}

@Suite struct `The summary of a stored response` {
  @Test func `has its size, and says where nothing is stored`() async throws {
    let cache = HTTPCache(persistence: MemoryPersistence())
    let key = RecordKey(method: .get, url: "https://api.example.com/a")
    let head = Record.Head(
      identity: key.identity, status: .ok, fields: [:], requestedAt: .distantPast, receivedAt: .distantPast)
    try await cache.store(Record(head: head, body: Data("hello".utf8)), for: key)
    #expect(try await summary(of: key.url, in: cache) == "5 bytes, fresh until an unstated time")
    #expect(try await summary(of: "https://api.example.com/b", in: cache) == "not stored")
  }
}
