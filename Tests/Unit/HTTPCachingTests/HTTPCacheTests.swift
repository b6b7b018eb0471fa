import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

private let time = Date(timeIntervalSince1970: 1_795_262_400)
private let key = RecordKey(method: .get, url: "https://api.example.com/a", scope: "alice")

private func record(_ fields: String, _ body: String, request: HTTPFields = [:], at date: Date = time) -> Record {
  var head = CachingExample.head(fields)
  head.identity = key.identity
  head.requestedAt = date
  head.receivedAt = date
  head.variant = Record.Variant(response: head.fields, request: request)
  return Record(head: head, body: Data(body.utf8))
}

private func text(_ record: Record?) -> String? { record.map { String(decoding: $0.body, as: UTF8.self) } }

@Suite struct `Variants of one URL` {
  let persistence = MemoryPersistence()
  var cache: HTTPCache { HTTPCache(persistence: persistence) }

  private func store(_ language: String) async throws {
    let request: HTTPFields = [.acceptLanguage: language]
    try await cache.store(
      record("Cache-Control: max-age=60; Vary: Accept-Language", language, request: request), for: key)
  }

  private func find(_ language: String) async throws -> Record? {
    try await cache.lookUp(key, for: [.acceptLanguage: language])
  }

  @Test func `variants of one URL are stored beside each other, each for its own request`() async throws {
    for language in ["de", "fr", "en"] { try await store(language) }
    for language in ["de", "fr", "en"] { #expect(text(try await find(language)) == language) }
    #expect(try await find("it") == nil)
    #expect(try await cache.lookUp(key) == nil)
  }

  @Test func `variants of one URL are known by the key that they are variants of`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    #expect(try await find("fr")?.head.identity == key.identity)
    #expect(try await cache.keys(of: key.url, in: "alice") == [key])
    #expect(try await persistence.entries(in: "alice", url: key.url).count == 2)
  }

  @Test func `variants of one URL are renewed in their own place`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    for (language, body) in [("de", "neu"), ("fr", "nouveau")] {
      try await cache.store(
        record("Vary: Accept-Language", body, request: [.acceptLanguage: language]), for: key)
    }
    #expect(text(try await find("de")) == "neu")
    #expect(text(try await find("fr")) == "nouveau")
  }

  @Test func `variants of one URL are invalidated together`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    try await cache.invalidate(key, at: time.addingTimeInterval(5))
    for language in ["de", "fr"] { #expect(try await find(language)?.head.invalidatedAt != nil) }
  }

  @Test func `variants are removed together`() async throws {
    for language in ["de", "fr", "en"] { try await store(language) }
    try await cache.remove(key)
    #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
    try await store("de")
    #expect(try await find("fr") == nil)
  }

  @Test func `of other bytes are others, whatever text they are`() async throws {
    func request(_ byte: UInt8) -> HTTPFields {
      HTTPFields([HTTPField(name: .acceptLanguage, lenientValue: [0x4D, byte, 0x6C])])
    }
    try await cache.store(record("Vary: Accept-Language", "u", request: request(0xFC)), for: key)
    #expect(text(try await cache.lookUp(key, for: request(0xFC))) == "u")
    #expect(try await cache.lookUp(key, for: request(0xF6)) == nil)
  }

  @Test func `variants leave nothing behind when they are removed after a response that does not vary`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    try await cache.store(record("X: y", "all"), for: key)
    try await cache.remove(key)
    #expect(try await persistence.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `variants of one URL are all invalidated though one cannot be read`() async throws {
    for language in ["de", "fr", "en"] { try await store(language) }
    let faulty = FaultyPersistence(persistence)
    let cache = HTTPCache(persistence: faulty)
    // The first load is the record that names the others.
    let gate = faulty.hold(.load)
    async let invalidated: Void = cache.invalidate(key, at: time)
    try await gate.reached()
    faulty.fail(.load, with: Record.Failure.truncated)
    gate.open()
    try await invalidated
    #expect(try await find("de")?.head.invalidatedAt == time)
    #expect(try await find("fr") == nil)
    #expect(try await find("en")?.head.invalidatedAt == time)
  }

  @Test func `variants of one URL make way for a response that does not vary`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    try await cache.store(record("X: y", "all"), for: key)
    for language in ["de", "fr"] { #expect(text(try await find(language)) == "all") }
    try await store("de")
    #expect(try await find("fr") == nil)
  }

  @Test func `variants make way for a response that varies on something else`() async throws {
    for language in ["de", "fr"] { try await store(language) }
    try await cache.store(record("Vary: Accept", "other", request: [.accept: "a"]), for: key)
    #expect(try await find("fr") == nil)
    #expect(text(try await cache.lookUp(key, for: [.accept: "a", .acceptLanguage: "fr"])) == "other")
  }

  @Test func `variants of one URL are kept to a number, the oldest goes`() async throws {
    for index in 0...(HTTPCache.variantLimit + 1) { try await store("\(index)") }
    #expect(try await persistence.entries(in: nil, url: nil).count == HTTPCache.variantLimit + 1)
    #expect(try await find("1") == nil)
    #expect(text(try await find("0")) == "0")
    #expect(text(try await find("\(HTTPCache.variantLimit + 1)")) == "\(HTTPCache.variantLimit + 1)")
  }

  @Test func `variants of one URL survive being written and read as bytes`() throws {
    var stored = record("Vary: Accept", "a", request: [.accept: "a"])
    stored.head.otherVariants = ["00ff", "11"]
    let bytes = RecordCodec.encodeHead(of: stored) + Array(stored.body)
    #expect(try RecordCodec.decode(bytes) == stored)
  }

  @Test func `variants of one URL have keys whose text leads back to them`() throws {
    let variant = key.variant("00ff")
    #expect(variant != key && variant.url == key.url && variant.scope == key.scope)
    #expect(variant.base == key && key.base == key)
    #expect(RecordKey(identity: variant.identity) == variant)
    #expect(try #require(RecordKey(identity: variant.identity)).base == key)
  }
}
