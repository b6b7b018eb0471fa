import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A store whose key is what the test says.
private final class KeyedPersistence: Persistence {
  let base = MemoryPersistence()
  let key: Mutex<RecordKey.SecretKey?>
  let askedCount = Atomic<Int>(0)

  init(_ key: RecordKey.SecretKey?) { self.key = Mutex(key) }

  func load(_ key: RecordKey) async throws -> Record? { try await base.load(key) }
  func save(_ record: Record, for key: RecordKey) async throws { try await base.save(record, for: key) }
  func remove(_ key: RecordKey) async throws { try await base.remove(key) }
  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await base.entries(in: scope, url: url)
  }
  func secretKey() -> RecordKey.SecretKey? {
    askedCount.add(1, ordering: .relaxed)
    return key.withLock(\.self)
  }
}

/// Secrets in URLs are stored as digests under the store's key.
@Suite("The key of a store's secrets", .timeLimit(.minutes(5)))
struct SecretKeyTests {
  private static let fields: HTTPFields = [.cacheControl: "max-age=60"]
  private let resource: Resource = "note?password=hunter2"

  private func bench(_ persistence: (any Persistence)?) -> Bench {
    let bench = Bench(persistence: persistence)
    bench.transport.answer("/v1/note", with: .json(Note(1, "one").json, fields: Self.fields))
    return bench
  }

  private func urls(_ persistence: any Persistence) async throws -> [String] {
    try await persistence.entries(in: nil, url: nil).map(\.key.url)
  }

  @Test func `a layer requests the secret key once, and not before there is a secret`() async throws {
    let store = KeyedPersistence(RecordKey.SecretKey())
    let bench = bench(store)
    _ = try await bench.notes.fetch("note")
    #expect(store.askedCount.load(ordering: .relaxed) == 0)
    for number in 0..<10 { _ = try await bench.notes.fetch("note?password=\(String(number))") }
    #expect(store.askedCount.load(ordering: .relaxed) == 1)
  }

  @Test func `equal secrets have equal keys in one store, and different keys in another`() async throws {
    let stores = [KeyedPersistence(RecordKey.SecretKey()), KeyedPersistence(RecordKey.SecretKey())]
    for store in stores + stores { _ = try await bench(store).notes.fetch(resource) }
    let urls = [try await urls(stores[0]), try await urls(stores[1])]
    #expect(urls[0].count == 1 && urls[1].count == 1 && urls[0] != urls[1])
  }

  @Test func `the secret key finds a record after a restart, also for a proxy`() async throws {
    let bench = bench(KeyedPersistence(RecordKey.SecretKey()))
    _ = try await bench.notes.fetch(resource)
    _ = try await bench.restarted().notes.fetch(resource)
    let cache = ProxyCache(persistence: bench.persistence)
    let request = HTTPRequest(
      method: .get, scheme: "https", authority: "api.example.com", path: "/v1/note?password=hunter2")
    guard case .answer = await cache.plan(for: request, at: bench.clock.wallClock()) else {
      Issue.record("the proxy has another key")
      return
    }
    #expect(bench.transport.requestCount == 1)
  }

  @Test func `the key of a store's secrets names the record for RecordKey too`() async throws {
    let store = KeyedPersistence(RecordKey.SecretKey())
    _ = try await bench(store).notes.fetch(resource)
    let url = "https://api.example.com/v1/note?password=hunter2"
    func key(_ secretKey: RecordKey.SecretKey?) -> RecordKey {
      RecordKey(method: .get, url: url, secretQueryItems: ["password"], secretKey: secretKey)
    }
    #expect(try await store.load(key(store.secretKey())) != nil)
    #expect(try await store.load(key(nil)) == nil)
  }

  /// In one process, which has its own key, so the second layer can read the store's.
  @Test func `a layer works with an unreadable secret key, and misses after a restart`() async throws {
    let store = KeyedPersistence(nil)
    let bench = bench(store)
    let errors = EventRecorder(bench.layer)
    _ = try await bench.notes.fetch(resource)
    _ = try await bench.notes.fetch(resource)
    #expect(bench.transport.requestCount == 1)
    store.key.withLock { $0 = RecordKey.SecretKey() }
    // It keeps to the key that it has begun with.
    _ = try await bench.notes.fetch("note?password=other", policy: .networkOnly)
    let again = bench.restarted()
    #expect(try await again.notes.fetch(resource).text == "one")
    #expect(bench.transport.requestCount == 3)
    #expect(Set(errors.names + again.log.names).isDisjoint(with: [.loadFailed, .saveFailed, .failed]))
  }

  @Test func `a secret key in an unreadable file is a miss, and no error`() async throws {
    try await withTemporaryDirectory { directory in
      let file = directory.appending(path: "secret.key")
      try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
      let bench = bench(FilePersistence(directory: directory))
      for _ in 0..<2 { #expect(try await bench.notes.fetch(resource).text == "one") }
      #expect(bench.transport.requestCount == 1)
      try FileManager.default.removeItem(at: file)
      for _ in 0..<2 { #expect(try await bench.restarted().notes.fetch(resource).text == "one") }
      #expect(bench.transport.requestCount == 2)
    }
  }

  @Test func `the key of a store's secrets is not needed where there is no store`() async throws {
    let bench = bench(nil)
    for _ in 0..<2 { _ = try await bench.notes.fetch(resource) }
    #expect(bench.transport.requestCount == 1)
    #expect(bench.log.events.allSatisfy { $0.key.url.contains("password=hmac-") })
  }
}
