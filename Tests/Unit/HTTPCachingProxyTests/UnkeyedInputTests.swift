import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// Each field of a request that no key has, with each status that it may cause. The server sends a
/// lifetime with its errors too, as many are told to.
@Suite struct `An answer that one request's own fields have caused` {
  static let fields = [
    "If-Match: \"zz\"", "If-Unmodified-Since: -99", "If-None-Match: \"zz\"", "If-Modified-Since: -99",
    "Range: bytes=99-", "Range: bytes=0-1; If-Range: \"zz\"", "If-Range: \"zz\"", "Expect: 200-maybe", "Early-Data: 1",
    "A-IM: feed",
  ]
  static let statuses = [
    206, 226, 304, 400, 403, 404, 406, 410, 412, 413, 414, 415, 416, 417, 421, 422, 425, 426, 428, 429, 431, 500, 501,
    503, 511,
  ]
  static let lifetime = "Cache-Control: max-age=60, public"

  private func proxies() -> [Proxy] {
    [CacheRules.private, .shared()].map { Proxy(cache: ProxyCache(persistence: MemoryPersistence(), rules: $0)) }
  }

  @Test(arguments: fields, statuses) func `an answer to a request's own fields is only for its client`(
    field: String, status: Int
  ) async throws {
    for proxy in proxies() {
      let answer = try await proxy.exchange(field, answer: "\(status); \(Self.lifetime)", body: "e").answer
      #expect(answer?.text == "\(status) network e" && answer?.isStored == false)
      #expect(try await proxy.exchange(age: 1).sent != nil)
    }
  }

  @Test(arguments: fields, statuses)
  func `an answer that unkeyed fields have caused leaves the stored response as it is`(field: String, status: Int)
    async throws
  {
    for proxy in proxies() {
      _ = try await proxy.exchange(answer: Self.lifetime, body: "good")
      let asked = try await proxy.exchange(
        "\(field); Cache-Control: no-cache", age: 1, answer: "\(status); \(Self.lifetime)", body: "e")
      #expect(asked.sent != nil && asked.answer?.isStored == false)
      #expect(try await proxy.exchange(age: 2).answer?.text == "200 stored good")
    }
  }

  @Test(arguments: fields) func `no request waits for an answer that unkeyed fields may cause`(field: String)
    async throws
  {
    #expect(try await Proxy().begin(field).leadsCollapsing == false)
    #expect(try await Proxy().begin().leadsCollapsing)
  }

  @Test(arguments: fields) func `a request with unkeyed fields may store a whole response`(field: String) async throws {
    let proxy = Proxy()
    #expect(try await proxy.exchange(field, answer: Self.lifetime, body: "a").answer?.isStored == true)
    #expect(try await proxy.exchange(age: 1).answer?.text == "200 stored a")
  }

  @Test func `an answer to the cache's own validators is stored, although the client sent others`() async throws {
    let proxy = Proxy()
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let gone = try await proxy.exchange(
      "If-None-Match: \"zz\"", age: 61, answer: "410; Cache-Control: max-age=60", body: "gone")
    #expect(gone.answer?.isStored == true)
    #expect(try await proxy.exchange(age: 62).answer?.text == "410 stored gone")
  }

  @Test(arguments: [406, 408, 411, 412, 413, 415, 416, 417, 421, 425, 426, 428, 429, 431, 511])
  func `an answer that unkeyed fields have caused is recognized by its status`(status: Int) async throws {
    for proxy in proxies() {
      #expect(try await proxy.exchange(answer: "\(status); \(Self.lifetime)").answer?.isStored == false)
    }
  }

  @Test(arguments: [400, 403, 404, 405, 410, 414, 422, 451, 499, 500, 503])
  func `an error with a lifetime is stored`(status: Int) async throws {
    for proxy in proxies() {
      #expect(try await proxy.exchange(answer: "\(status); \(Self.lifetime)").answer?.isStored == true)
    }
  }

  @Test(arguments: [400, 401, 403, 404, 500]) func `a shared cache does not store the answer to a user's mistake`(
    status: Int
  )
    async throws
  {
    let proxy = Proxy(cache: ProxyCache(persistence: MemoryPersistence(), rules: .shared()))
    _ = try await proxy.exchange(answer: Self.lifetime, body: "good")
    let answer = try await proxy.exchange(
      "Authorization: Bearer x; Cache-Control: no-cache", age: 1, answer: "\(status); \(Self.lifetime)"
    ).answer
    #expect(answer?.isStored == false)
    #expect(try await proxy.exchange(age: 2).answer?.text == "200 stored good")
  }
}

@Suite struct `What is stored, after a response that may not be` {
  private static let anonymous = "Cache-Control: max-age=1000; ETag: \"a\""

  @Test(arguments: [
    ("Authorization: Bearer x", "Cache-Control: max-age=60"), ("", "Cache-Control: private, max-age=60"),
    ("", "Cache-Control: max-age=60; Set-Cookie: a=b"), ("", "304; Cache-Control: private"),
    ("Authorization: Bearer x", "304; Cache-Control: max-age=60"),
  ])
  func `a shared cache keeps its response after one that is only for a user`(request: String, answer: String)
    async throws
  {
    let proxy = Proxy(cache: ProxyCache(persistence: MemoryPersistence(), rules: .shared()))
    _ = try await proxy.exchange(answer: Self.anonymous, body: "a")
    let own = try await proxy.exchange("Cache-Control: no-cache; \(request)", age: 1, answer: answer, body: "own")
    #expect(own.sent != nil && own.answer?.isStored == false)
    #expect(try await proxy.exchange(age: 2).answer?.text == "200 stored a")
  }

  @Test(arguments: ["Cache-Control: no-store", "304; Cache-Control: no-store", "Cache-Control: max-age=60; Vary: *"])
  func `the stored response is removed after a newer one that no cache may store`(answer: String) async throws {
    for rules in [CacheRules.private, .shared()] {
      let proxy = Proxy(cache: ProxyCache(persistence: MemoryPersistence(), rules: rules))
      _ = try await proxy.exchange(answer: Self.anonymous, body: "a")
      _ = try await proxy.exchange("Cache-Control: no-cache", age: 1, answer: answer)
      let next = try #require(try await proxy.exchange(age: 2).sent)
      #expect(!next.headerFields.contains(.ifNoneMatch))
    }
  }

  private static let languages = ["de", "en", "fr"]

  @Test(arguments: languages, ["", nil]) func `after such a response, only its own variant is removed`(
    gone: String, body: String?
  ) async throws {
    let disk = MemoryPersistence()
    let proxy = Proxy(cache: ProxyCache(persistence: disk))
    for language in Self.languages {
      _ = try await proxy.exchange(
        "Accept-Language: \(language)", answer: "Cache-Control: max-age=60; Vary: Accept-Language", body: language)
    }
    let answer = body == nil ? "Cache-Control: max-age=60; Vary: Accept-Language" : "Cache-Control: no-store"
    _ = try await proxy.exchange(
      "Cache-Control: no-cache; Accept-Language: \(gone)", age: 1, answer: answer, body: body)
    for language in Self.languages {
      let (sent, answer) = try await proxy.exchange("Accept-Language: \(language)", age: 2)
      #expect(language == gone ? sent != nil : answer?.text == "200 stored \(language)")
    }
    #expect(try await disk.entries(in: nil, url: nil).count == 2)
    // The remaining ones are found together.
    try await proxy.cache.remove(RecordKey(method: .get, url: "https://api.example.com/a"))
    #expect(try await disk.entries(in: nil, url: nil).isEmpty)
  }

  @Test func `after such a response through a layer, only its own variant is removed`() async throws {
    let cache = HTTPCache(persistence: MemoryPersistence())
    let key = RecordKey(method: .get, url: "https://api.example.com/a")
    func record(_ fields: String, _ language: String) -> Record {
      var head = CachingExample.head(fields)
      head.variant = Record.Variant(response: head.fields, request: [.acceptLanguage: language])
      return Record(head: head, body: Data(language.utf8))
    }
    for language in Self.languages { try await cache.store(record("Vary: Accept-Language", language), for: key) }
    try await cache.store(record("Cache-Control: no-store", "de"), for: key, request: [.acceptLanguage: "de"])
    #expect(try await cache.lookUp(key, for: [.acceptLanguage: "de"]) == nil)
    #expect(try await cache.lookUp(key, for: [.acceptLanguage: "en"]) != nil)
  }
}
