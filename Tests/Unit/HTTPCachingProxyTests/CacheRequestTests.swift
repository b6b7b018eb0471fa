import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite struct `An exchange through the cache` {
  private let proxy = Proxy()

  @Test func `with nothing stored, a request and its response pass the cache unchanged`() async throws {
    let (sent, answer) = try await proxy.exchange(
      "If-None-Match: \"z\"; Range: bytes=0-1; X: y", answer: "206; Content-Range: bytes 0-1/5; Connection: close",
      body: "ab")
    #expect(sent == CachingExample.request("If-None-Match: \"z\"; Range: bytes=0-1; X: y"))
    #expect(answer?.text == "206 network ab")
    #expect(answer?.response.headerFields[.connection] == "close")
    #expect(answer?.isStored == false)
  }

  @Test func `a response with a body that is too large to hold leaves nothing behind`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let (_, large) = try await proxy.exchange(age: 61, answer: "Cache-Control: max-age=60; ETag: \"b\"", body: nil)
    #expect(large?.text == "200 network " && large?.isStored == false)
    #expect(large?.cacheStatus.isStored == false && large?.cacheStatus.forwardStatus == 200)
    let (sent, _) = try await proxy.exchange(age: 62)
    #expect(sent?.headerFields[.ifNoneMatch] == nil && sent != nil)
  }

  @Test func `a body that is too large to hold is returned in full, whatever the client has`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let (_, answer) = try await proxy.exchange(
      "If-None-Match: \"b\"", age: 61, answer: "ETag: \"b\"", body: nil)
    #expect(answer?.text == "200 network ")
  }

  @Test func `an exchange through the cache is answered from what is stored, with its age`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60", body: "a")
    let (sent, answer) = try await proxy.exchange(age: 7)
    #expect(sent == nil)
    #expect(answer?.text == "200 stored a")
    #expect(answer?.response.headerFields[.age] == "7")
  }

  @Test func `a stale response is validated, and returned once confirmed`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"; Last-Modified: -9", body: "a")
    let (sent, answer) = try await proxy.exchange(age: 61, answer: "304; Cache-Control: max-age=90")
    #expect(sent?.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(sent?.headerFields.contains(.ifModifiedSince) == true)
    #expect(answer?.text == "200 validated a")
    #expect(try await proxy.exchange(age: 150).answer?.text == "200 stored a")
  }

  @Test func `the client's own condition is evaluated against the confirmed response`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let (sent, answer) = try await proxy.exchange("If-None-Match: \"a\"", age: 61, answer: "304; ETag: \"a\"")
    #expect(sent?.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(answer?.text == "304 validated ")
  }

  @Test func `an exchange through the cache holds it against a new response too`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let (sent, answer) = try await proxy.exchange(
      "If-None-Match: \"b\"; Range: bytes=0-0", age: 61, answer: "ETag: \"b\"; Cache-Control: max-age=60", body: "b")
    #expect(sent?.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(sent?.headerFields.contains(.range) == false)
    #expect(answer?.text == "304 network ")
    #expect(try await proxy.exchange(age: 62).answer?.text == "200 stored b")
  }

  @Test func `within the server's window, a stale response is returned and revalidated in the background`() async throws
  {
    let fields = "Cache-Control: max-age=60, stale-while-revalidate=30; ETag: \"a\""
    _ = try await proxy.exchange(answer: fields, body: "a")
    let now = Proxy.time.addingTimeInterval(70)
    guard
      case .answerAndSend(let answer, let exchange) = await proxy.cache.plan(for: CachingExample.request(""), at: now)
    else { return #expect(Bool(false)) }
    #expect(answer.text == "200 stored a")
    #expect(exchange.request.headerFields[.ifNoneMatch] == "\"a\"")
    let head = CachingExample.head(fields)
    _ = await proxy.cache.receive(
      HTTPResponse(status: .ok, headerFields: head.fields), body: Data("b".utf8), for: exchange, at: now)
    #expect(try await proxy.exchange(age: 71).answer?.text == "200 stored b")
  }

  @Test(arguments: [500, 502, 503, 504]) func `a stale response replaces an error if the server allows it`(status: Int)
    async throws
  {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60, stale-if-error=30", body: "a")
    #expect(try await proxy.exchange(age: 80, answer: "\(status)").answer?.text == "200 stale a")
    #expect(try await proxy.exchange(age: 80).answer?.text == "200 stale a")
    #expect(try await proxy.exchange(age: 95, answer: "\(status)", body: "e").answer?.text == "\(status) network e")
    #expect(try await proxy.exchange(age: 95).answer == nil)
  }

  @Test func `an exchange through the cache keeps what is stored when an error is the answer`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    _ = try await proxy.exchange("Cache-Control: no-cache", age: 1, answer: "500")
    #expect(try await proxy.exchange(age: 2).answer?.text == "200 stored a")
  }

  @Test(arguments: [404, 410], ["", "; Cache-Control: no-store"])
  func `the cache removes a response that the server no longer has`(status: Int, control: String) async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60, stale-if-error=600; ETag: \"a\"", body: "a")
    let (_, gone) = try await proxy.exchange(age: 61, answer: "\(status)\(control)")
    #expect(gone?.response.status.code == status)
    let (sent, answer) = try await proxy.exchange("Cache-Control: no-cache", age: 62, answer: "503")
    #expect(sent?.headerFields[.ifNoneMatch] == nil)
    #expect(answer?.response.status.code == 503)
  }

  @Test func `an exchange through the cache forgets what is stored when a newer response may not be`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60", body: "a")
    let answer = try await proxy.exchange(
      "Cache-Control: no-cache", age: 1, answer: "Cache-Control: no-store", body: "b"
    ).answer
    #expect(answer?.text == "200 network b" && answer?.isStored == false)
    #expect(try await proxy.exchange(age: 2).sent != nil)
  }

  @Test func `a request with no-store stores nothing, and leaves the stored response`() async throws {
    _ = try await proxy.exchange("Cache-Control: no-store", answer: "Cache-Control: max-age=60", body: "a")
    #expect(try await proxy.exchange(age: 1, answer: "Cache-Control: max-age=60", body: "b").sent != nil)
    _ = try await proxy.exchange("Cache-Control: no-store", age: 2, answer: "Cache-Control: max-age=60", body: "c")
    #expect(try await proxy.exchange(age: 3).answer?.text == "200 stored b")
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "M-SEARCH"])
  func `an unsafe request makes the responses stale that it may have changed`(method: String) async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    _ = try await proxy.exchange(method, age: 1, answer: "500")
    #expect(try await proxy.exchange(age: 2).answer?.text == "200 stored a")
    _ = try await proxy.exchange(method, age: 3, answer: "204")
    #expect(try await proxy.exchange(age: 4, answer: "304").answer?.text == "200 validated a")
  }

  @Test func `the answer to a POST is stored if it says that it is the resource's`() async throws {
    let answer = try await proxy.exchange(
      "POST", answer: "Cache-Control: max-age=60; Content-Location: /a", body: "a"
    ).answer
    #expect(answer?.isStored == true)
    #expect(try await proxy.exchange(age: 1).answer?.text == "200 stored a")
    _ = try await proxy.exchange("POST", age: 2, answer: "Cache-Control: max-age=60; Content-Location: /b", body: "b")
    #expect(try await proxy.exchange(age: 3).sent != nil)
  }

  @Test func `an exchange through the cache answers HEAD from what is stored, without its body`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; Content-Length: 1", body: "a")
    let answer = try await proxy.exchange("HEAD", age: 1).answer
    #expect(answer?.text == "200 stored ")
    #expect(answer?.response.headerFields[.contentLength] == "1")
  }

  @Test func `an exchange through the cache takes an answer to HEAD as word of what is stored`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"; X: 1", body: "a")
    _ = try await proxy.exchange("HEAD", age: 61, answer: "Cache-Control: max-age=60; ETag: \"a\"; X: 2")
    let answer = try await proxy.exchange(age: 62).answer
    #expect(answer?.text == "200 stored a")
    #expect(answer?.response.headerFields[HTTPField.Name("X") ?? .age] == "2")
    _ = try await proxy.exchange("HEAD", age: 130, answer: "Cache-Control: max-age=60; ETag: \"b\"")
    #expect(try await proxy.exchange(age: 131).sent?.headerFields[.ifNoneMatch] == "\"a\"")
    _ = try await proxy.exchange("HEAD", age: 132, answer: "Cache-Control: max-age=60; Content-Length: 99")
    #expect(try await proxy.exchange(age: 133).sent != nil)
  }

  @Test func `an exchange belongs to one scope`() async throws {
    let request = CachingExample.request("")
    guard case .send(let exchange) = await proxy.cache.plan(for: request, scope: "alice", at: Proxy.time) else {
      return #expect(Bool(false))
    }
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    _ = await proxy.cache.receive(response, body: Data(), for: exchange, at: Proxy.time)
    guard case .answer = await proxy.cache.plan(for: request, scope: "alice", at: Proxy.time) else {
      return #expect(Bool(false))
    }
    guard case .send = await proxy.cache.plan(for: request, scope: "bob", at: Proxy.time) else {
      return #expect(Bool(false))
    }
  }

  @Test func `an unsafe request makes responses stale in every scope`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60", body: "a")
    guard
      case .send(let post) = await proxy.cache.plan(for: CachingExample.request("POST"), scope: "bob", at: Proxy.time)
    else { return #expect(Bool(false)) }
    _ = await proxy.cache.receive(HTTPResponse(status: .ok), body: Data(), for: post, at: Proxy.time)
    #expect(try await proxy.exchange(age: 1).sent != nil)
  }

  /// The model layer's own redaction decides what a store that both share may hold.
  @Test func `an exchange through the cache stores no secret, and finds it again`() async throws {
    let disk = MemoryPersistence()
    let cache = ProxyCache(persistence: disk)
    func request(_ secret: String, _ method: HTTPRequest.Method = .get) -> HTTPRequest {
      HTTPRequest(method: method, scheme: "https", authority: "h", path: "/me?access_token=\(secret)")
    }
    func send(_ request: HTTPRequest, _ fields: HTTPFields) async -> CacheResponse? {
      guard case .send(let exchange) = await cache.plan(for: request, at: Proxy.time) else { return nil }
      return await cache.receive(
        HTTPResponse(status: .ok, headerFields: fields), body: Data("a".utf8), for: exchange, at: Proxy.time)
    }
    let fields: HTTPFields = [
      .cacheControl: "max-age=60", .contentLocation: "/me?access_token=s3cret", .location: "/b?token=s3cret",
    ]
    let first = await send(request("s3cret"), fields)
    #expect(first?.isStored == true)
    #expect(first?.response.headerFields[.location] == "/b?token=s3cret")
    var text = ""
    for entry in try await disk.entries(in: nil, url: nil) {
      text += entry.key.identity
      dump(try await disk.load(entry.key), to: &text)
    }
    #expect(text.contains("hmac-") && !text.contains("s3cret"))
    #expect(
      try await disk.entries(in: nil, url: nil).map(\.key) == [
        RecordKey(
          method: .get, url: "https://h/me?access_token=s3cret",
          secretQueryItems: HTTPCache.defaultSecretQueryItems)
      ])
    guard case .answer(let again) = await cache.plan(for: request("s3cret"), at: Proxy.time) else {
      Issue.record("not stored")
      return
    }
    #expect(again.response.headerFields[.location] == "/b?token=s3cret")
    #expect(again.response.headerFields[.contentLocation] == "/me?access_token=s3cret")
    // Another client has not shown the secret, and a digest is not the secret.
    let digest = String(decoding: cache.records.digests.digest(Array("s3cret".utf8)), as: UTF8.self)
    for other in ["other", digest] {
      guard case .send = await cache.plan(for: request(other), at: Proxy.time) else {
        Issue.record("answered to \(other)")
        return
      }
    }
    // A change of the URL reaches it.
    _ = await send(request("s3cret", .post), [:])
    guard case .send = await cache.plan(for: request("s3cret"), at: Proxy.time.addingTimeInterval(1)) else {
      Issue.record("fresh after a change")
      return
    }
  }

  @Test func `a response whose Location has a secret is not reused`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; Location: /b?token=s3cret", body: "a")
    #expect(try await proxy.exchange(age: 1).sent != nil)
  }

  @Test func `an exchange through the cache keeps cookies only with keepsCookies`() async throws {
    let fields = "Cache-Control: max-age=60; Set-Cookie: a=b; Set-Cookie: c=d"
    _ = try await proxy.exchange(answer: fields)
    #expect(try await proxy.exchange(age: 1).answer?.response.headerFields.contains(.setCookie) == false)
    let keeping = Proxy(cache: ProxyCache(persistence: MemoryPersistence(), keepsCookies: true))
    #expect(try await keeping.exchange(answer: fields).answer?.isStored == true)
    #expect(try await keeping.exchange(age: 1).answer?.response.headerFields[values: .setCookie] == ["a=b", "c=d"])
  }

  @Test func `the client gets the cookies of every answer, whatever is stored`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "abc")
    let validated = try await proxy.exchange(age: 61, answer: "304; Set-Cookie: a=b").answer
    #expect(validated?.response.headerFields[values: .setCookie] == ["a=b"])
    let part = try await proxy.exchange(
      "Range: bytes=0-0", age: 200, answer: "ETag: \"b\"; Cache-Control: max-age=60; Set-Cookie: c=d", body: "xyz"
    ).answer
    #expect(part?.text == "206 network x")
    #expect(part?.response.headerFields[values: .setCookie] == ["c=d"])
    #expect(try await proxy.exchange(age: 201).answer?.response.headerFields.contains(.setCookie) == false)
  }

  @Test func `a 304 or an answer to HEAD with no-store removes the stored response`() async throws {
    for method in ["GET", "HEAD"] {
      _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
      let status = method == "GET" ? "304; " : ""
      _ = try await proxy.exchange(method, age: 61, answer: "\(status)Cache-Control: no-store")
      #expect(try await proxy.exchange(age: 62).sent?.headerFields.contains(.ifNoneMatch) == false)
    }
  }

  /// A GET is sent, and is answered after what else happens.
  private func overtaken(by other: () async throws -> Void, status: Int) async throws -> CacheResponse {
    let now = Proxy.time.addingTimeInterval(61)
    guard case .send(let exchange) = await proxy.cache.plan(for: CachingExample.request(""), at: now) else {
      throw CancellationError()
    }
    try await other()
    let response = HTTPResponse(
      status: .init(code: status), headerFields: [.cacheControl: "max-age=60", .eTag: "\"a\""])
    return await proxy.cache.receive(response, body: Data("old".utf8), for: exchange, at: now.addingTimeInterval(1))
  }

  @Test(arguments: [200, 304]) func `an exchange does not undo an invalidation that came between`(status: Int)
    async throws
  {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let answer = try await overtaken(
      by: { _ = try await proxy.exchange("POST", age: 61.5, answer: "204") }, status: status)
    #expect(!answer.isStored)
    #expect(try await proxy.exchange(age: 62).sent != nil)
  }

  @Test(arguments: [200, 304]) func `an exchange does not bring back a response that was removed meanwhile`(status: Int)
    async throws
  {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    let answer = try await overtaken(by: { try await proxy.cache.removeAll(in: nil) }, status: status)
    #expect(!answer.isStored)
    #expect(try await proxy.exchange(age: 62).sent != nil)
  }

  @Test func `an exchange through the cache does not replace what is newer`() async throws {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; ETag: \"a\"", body: "a")
    _ = try await overtaken(
      by: {
        _ = try await proxy.exchange(
          "Cache-Control: no-cache", age: 63, answer: "Cache-Control: max-age=60", body: "new")
      }, status: 304)
    #expect(try await proxy.exchange(age: 64).answer?.text == "200 stored new")
  }

  @Test func `an exchange through the cache invalidates a target that no URL of the platform can spell`() async throws {
    let cache = proxy.cache
    func request(_ method: HTTPRequest.Method) -> HTTPRequest {
      HTTPRequest(method: method, scheme: "https", authority: "api.example.com", path: "/a|b c\\")
    }
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    for method in [HTTPRequest.Method.get, .post] {
      guard case .send(let exchange) = await cache.plan(for: request(method), at: Proxy.time) else {
        return #expect(Bool(false))
      }
      _ = await cache.receive(response, body: Data(), for: exchange, at: Proxy.time.addingTimeInterval(1))
    }
    guard case .send = await cache.plan(for: request(.get), at: Proxy.time.addingTimeInterval(2)) else {
      return #expect(Bool(false))
    }
  }

  @Test func `an exchange through the cache continues where the store does not`() async throws {
    let faulty = FaultyPersistence(MemoryPersistence())
    let proxy = Proxy(cache: ProxyCache(persistence: faulty))
    faulty.failAlways(.load, with: Record.Failure.truncated)
    faulty.failAlways(.save, with: Record.Failure.truncated)
    let answer = try await proxy.exchange(answer: "Cache-Control: max-age=60", body: "a").answer
    #expect(answer?.text == "200 network a")
    #expect(answer?.isStored == false && answer?.failure != nil)
  }
}
