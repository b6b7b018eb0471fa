import Foundation
import HTTPTypes
import ReactorTesting
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// A write that ends while a request is under way for which nothing is stored yet.
@Suite struct `A response from before a change` {
  private let disk = MemoryPersistence()
  private let proxy: Proxy

  init() { proxy = Proxy(cache: ProxyCache(persistence: disk)) }

  /// The response of a request that was planned before.
  private func isStored(_ exchange: CacheRequest, _ answer: String = "Cache-Control: max-age=60") async throws -> Bool {
    let received = await proxy.receive(answer, "old", for: exchange, age: 2)
    #expect(received.isStored == received.cacheStatus.isStored)
    return received.isStored
  }

  @Test(arguments: ["PUT", "DELETE", "PATCH", "POST"], ["200", "404"])
  func `a response from before a change is not stored, even if nothing was stored`(method: String, status: String)
    async throws
  {
    let get = try await proxy.begin()
    #expect(!get.isOvertaken)
    _ = try await proxy.exchange(method, age: 1, answer: "201")
    #expect(get.isOvertaken)
    #expect(try await !isStored(get, "\(status); Cache-Control: max-age=60"))
    let next = try await proxy.exchange(age: 3, answer: "Cache-Control: max-age=60", body: "new")
    #expect(next.answer?.isStored == true)
    #expect(try await proxy.exchange(age: 4).answer?.text == "200 stored new")
  }

  @Test(arguments: ["500", "404"]) func `a response is stored if the change after it has failed`(status: String)
    async throws
  {
    let get = try await proxy.begin()
    _ = try await proxy.exchange("PUT", age: 1, answer: status)
    #expect(try await isStored(get))
  }

  @Test(arguments: ["QUERY", "PROPFIND", "REPORT", "SEARCH", "OPTIONS"])
  func `a response from before a change is stored where the other request was safe`(method: String) async throws {
    let get = try await proxy.begin()
    _ = try await proxy.exchange(method, age: 1, answer: "Location: /a")
    #expect(try await isStored(get))
    _ = try await proxy.exchange(method, age: 3, answer: "200")
    #expect(try await proxy.exchange(age: 4).answer?.text == "200 stored old")
  }

  @Test func `a response from before a change is not stored for another variant, nor for another user`() async throws {
    let vary = "Cache-Control: max-age=60; Vary: Accept-Language"
    _ = try await proxy.exchange("Accept-Language: de", answer: vary, body: "de")
    let english = try await proxy.begin("Accept-Language: en")
    let other = try await proxy.begin(scope: "alice")
    _ = try await proxy.exchange("PUT", age: 1, answer: "204")
    #expect(try await !isStored(english, vary))
    #expect(try await !isStored(other))
  }

  @Test(arguments: ["Location: /a", "Content-Location: https://API.example.com:443/%61"])
  func `a response from before a change that names its URL is not stored`(field: String) async throws {
    let get = try await proxy.begin()
    let post = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: "/list")
    guard case .send(let exchange) = await proxy.cache.plan(for: post, at: Proxy.time) else { throw Proxy.NotSent() }
    _ = await proxy.receive("201; \(field)", for: exchange, age: 1)
    #expect(try await !isStored(get))
  }

  @Test func `a response from before a change is not stored where its group was made stale`() async throws {
    let (get, other) = (try await proxy.begin(), try await proxy.begin())
    let post = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: "/list")
    guard case .send(let exchange) = await proxy.cache.plan(for: post, at: Proxy.time) else { throw Proxy.NotSent() }
    _ = await proxy.receive("Cache-Group-Invalidation: \"g\"", for: exchange, age: 1)
    #expect(try await !isStored(get, "Cache-Control: max-age=60; Cache-Groups: \"f\", \"g\""))
    #expect(try await isStored(other, "Cache-Control: max-age=60; Cache-Groups: \"f\""))
  }

  @Test func `a response from before an invalidation or a removal is not stored`() async throws {
    let key = RecordKey(method: .get, url: "https://api.example.com/a")
    let changes: [(ProxyCache) async throws -> Void] = [
      { try await $0.invalidate(key, at: Proxy.time) }, { try await $0.remove(key) },
      { try await $0.removeAll(in: nil) },
      { try await $0.removeAll(in: .shared) },
    ]
    for change in changes {
      let get = try await proxy.begin()
      try await change(proxy.cache)
      #expect(try await !isStored(get))
    }
    let get = try await proxy.begin()
    try await proxy.cache.removeAll(in: "alice")
    #expect(try await isStored(get))
  }

  @Test func `a response from before a change is not stored where the change comes while it is saved`() async throws {
    let faulty = FaultyPersistence(disk)
    let proxy = Proxy(cache: ProxyCache(persistence: faulty))
    let get = try await proxy.begin()
    let gate = faulty.hold(.save)
    async let received = proxy.receive("Cache-Control: max-age=60", "old", for: get, age: 2)
    try await gate.reached()
    // It finds nothing to mark stale.
    _ = try await proxy.exchange("PUT", age: 2, answer: "204")
    gate.open()
    #expect(await !received.isStored)
    #expect(try await proxy.exchange(age: 3).sent != nil)
  }

  @Test func `a POST that names the target keeps an earlier response to it from being stored`() async throws {
    let post = try await proxy.begin("POST")
    _ = try await proxy.exchange("PUT", age: 1, answer: "204")
    #expect(try await !isStored(post, "Cache-Control: max-age=60; Content-Location: /a"))
  }

  @Test func `a response from before a change leaves nothing behind in memory`() async throws {
    do {
      let get = try await proxy.begin()
      let other = try await proxy.begin()
      #expect(proxy.cache.underWay.count == 2)
      _ = try await isStored(get)
      _ = try await isStored(other)
    }
    #expect(proxy.cache.underWay.count == 0)
  }
}

@Suite struct `Of two responses that cross` {
  private let proxy = Proxy()

  private func cross(_ first: String, _ second: String) async throws -> String? {
    let (one, two) = (try await proxy.begin(), try await proxy.begin(age: 1))
    _ = await proxy.receive(second, "second", for: two, age: 2)
    _ = await proxy.receive(first, "first", for: one, age: 3)
    return try await proxy.exchange(age: 4).answer?.text
  }

  @Test func `the one with the later Date stays, whichever came last`() async throws {
    let fields = "Cache-Control: max-age=60"
    #expect(try await cross("\(fields); Date: -20", "\(fields); Date: +0") == "200 stored second")
  }

  @Test func `the one with the later Date is stored, whichever was requested last`() async throws {
    let fields = "Cache-Control: max-age=60"
    #expect(try await cross("\(fields); Date: +0", "\(fields); Date: -20") == "200 stored first")
  }

  @Test(arguments: ["", "; Date: +0"]) func `of two responses without a later Date, the one requested last stays`(
    date: String
  )
    async throws
  {
    let fields = "Cache-Control: max-age=60\(date)"
    #expect(try await cross(fields, fields) == "200 stored second")
  }

  @Test func `a 304 does not bring back what another response has replaced`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=0; ETag: \"a\"", body: "old")
    let (one, two) = (try await proxy.begin(age: 1), try await proxy.begin(age: 2))
    _ = await proxy.receive("Cache-Control: max-age=60; ETag: \"b\"", "new", for: two, age: 3)
    let answer = await proxy.receive("304; Date: +99; Cache-Control: max-age=60; ETag: \"a\"", for: one, age: 4)
    #expect(!answer.isStored)
    #expect(try await proxy.exchange(age: 5).answer?.text == "200 stored new")
  }
}
