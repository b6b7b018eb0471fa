import Foundation
import HTTPTypes
import ReactorTesting
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite("The description of a cache's handling") struct CacheStatusTests {
  private let cache = ProxyCache(persistence: MemoryPersistence())
  private let start = Date(timeIntervalSinceReferenceDate: 1_000)
  private static let field = HTTPField.Name("Cache-Status") ?? .cacheControl

  private func request(_ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:]) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "https", authority: "api.example.com", path: "/a", headerFields: fields)
  }

  private func answer(
    _ request: HTTPRequest, _ fields: HTTPFields = [:], status: HTTPResponse.Status = .ok, after seconds: Double = 0
  ) async -> CacheResponse {
    let now = start.addingTimeInterval(seconds)
    switch await cache.plan(for: request, at: now) {
    case .answer(let response), .answerAndSend(let response, _): return response
    case .send(let exchange):
      return await cache.receive(
        HTTPResponse(status: status, headerFields: fields), body: Data("a".utf8), for: exchange, at: now)
    }
  }

  private func text(_ answer: CacheResponse, name: String = "edge") -> String? {
    var fields = HTTPFields()
    answer.cacheStatus.append(to: &fields, name: name)
    return fields[Self.field]
  }

  @Test func `Cache-Status names the reason for sending a request, and a stored response's remaining freshness`() async
  {
    let fields: HTTPFields = [.cacheControl: "max-age=60", .vary: "Accept"]
    #expect(text(await answer(request(), fields)) == "edge; fwd=uri-miss; fwd-status=200; stored")
    #expect(text(await answer(request(), after: 20.5)) == "edge; hit; ttl=39")
    #expect(
      text(await answer(request(.get, [.accept: "b"]), fields, after: 21))
        == "edge; fwd=vary-miss; fwd-status=200; stored")
    #expect(
      text(await answer(request(.get, [.cacheControl: "no-cache"]), fields, after: 22))
        == "edge; fwd=request; fwd-status=200; stored")
    #expect(text(await answer(request(), fields, after: 90)) == "edge; fwd=stale; fwd-status=200; stored")
    #expect(
      text(await answer(request(), [.cacheControl: "no-store"], after: 300)) == "edge; fwd=stale; fwd-status=200")
    #expect(text(await answer(request(.post), after: 400)) == "edge; fwd=method; fwd-status=200")
  }

  @Test func `the description of a cache's handling says what a 304 was to`() async {
    let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"a\""]
    _ = await answer(request(), fields)
    #expect(
      text(await answer(request(), fields, status: .notModified, after: 61))
        == "edge; fwd=stale; fwd-status=304; stored")
  }

  @Test func `the description of a cache's handling has a negative rest for what is stale`() async {
    _ = await answer(request(), [.cacheControl: "max-age=60, stale-if-error=60"])
    #expect(
      text(await answer(request(.get, [.cacheControl: "max-stale=60"]), after: 70.5)) == "edge; hit; ttl=-11")
    #expect(text(await answer(request(.get, [.cacheControl: "max-stale=60"]), after: 80)) == "edge; hit; ttl=-20")
  }

  @Test func `the description of a cache's handling says hit of no request that was sent`() async throws {
    _ = await answer(request(), [.cacheControl: "max-age=60, stale-if-error=60"])
    let failed = await answer(request(), status: .serviceUnavailable, after: 70.5)
    #expect(text(failed) == "edge; fwd=stale; fwd-status=503" && failed.source == .stale)
    let now = start.addingTimeInterval(70)
    guard case .send(let exchange) = await cache.plan(for: request(), at: now) else { throw Proxy.NotSent() }
    #expect(cache.staleAnswer(for: exchange, at: now).flatMap { text($0) } == "edge; fwd=stale")
    #expect(cache.staleAnswer(for: exchange, at: now, wasSent: false).flatMap { text($0) } == "edge; hit; ttl=-10")
  }

  @Test func `the description of a cache's handling has the cause of the cache's own answer`() async {
    #expect(
      text(await answer(request(.get, [.cacheControl: "only-if-cached"]))) == "edge; detail=only-if-cached")
  }

  @Test(arguments: [
    ("edge-1", "edge-1"), ("*a/b:c", "*a/b:c"), ("1st", #""1st""#), ("Our Cache", #""Our Cache""#),
    (#"a"b\c"#, #""a\"b\\c""#), ("Zürich", #""Zrich""#), ("", #""""#),
  ])
  func `the description of a cache's handling writes its name as a token or a string`(name: String, text: String) {
    var fields: HTTPFields = [Self.field: "origin; hit"]
    var status = CacheStatus(forwardReason: .bypass)
    status.isCollapsed = true
    status.detail = "two words"
    status.append(to: &fields, name: name)
    #expect(
      fields[fields: Self.field].map(\.value) == [
        "origin; hit", "\(text); fwd=bypass; collapsed; detail=\"two words\"",
      ])
  }
}
