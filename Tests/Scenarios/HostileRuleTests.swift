import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// A hostile response says that nothing in a query matters. It must answer for no other URL and for
/// no other user.
@Suite("A hostile No-Vary-Search", .timeLimit(.minutes(5)))
struct HostileRuleTests {
  private static let canary = "c4nary"

  /// The requests that must reach the server, each with the owner of its records.
  private static let others: [(method: HTTPRequest.Method, url: String, scope: Scope)] = [
    (.get, "https://api.example.com/b?u=1", "ada"), (.get, "https://api.example.com/a/?u=1", "ada"),
    (.get, "https://api.example.com/A?u=1", "ada"), (.get, "https://api.example.com/?u=1", "ada"),
    (.get, "https://api.example.com/a%3Fu=1", "ada"), (.get, "https://api.example.com/a/b?u=1", "ada"),
    (.get, "https://api.example.com/a?u=1&token=x", "ada"), (.get, "https://api.example.com/a?u=2&TOKEN=x", "ada"),
    (.get, "https://api.example.com/a?n=%253Ftoken%253Dx", "ada"), (.get, "http://api.example.com/a?u=1", "ada"),
    (.get, "https://api.example.com:8443/a?u=1", "ada"), (.get, "https://ada:x@api.example.com/a?u=1", "ada"),
    (.get, "https://b.example.com/a?u=1", "ada"), (.get, "https://api.example.com/a?u=1", "bob"),
    (.get, "https://api.example.com/a?u=2", "shared"), (.query, "https://api.example.com/a?u=1", "ada"),
    (.post, "https://api.example.com/a?u=2", "ada"), (.get, "https://api.example.com/a?\(many)", "ada"),
  ]
  private static let many = (0..<300).map { "n\($0)=1" }.joined(separator: "&")

  private static let rules = [
    "except=()", "key-order, except=()", #"params=("u" "" "token" "a" "\#(canary)")"#, #"params=("user" "u" "n")"#,
    "except=(\"\"), key-order=?1;x=1", #"except=("%00" "%0a:search" ":search")"#,
  ]

  private static func fields(_ rule: String) -> HTTPFields {
    var fields: HTTPFields = [.cacheControl: "public, max-age=600, s-maxage=600", .vary: "Accept"]
    fields[NoVarySearchTests.name] = rule
    return fields
  }

  private static func request(_ method: HTTPRequest.Method, _ url: String) -> HTTPRequest {
    var request = HTTPRequest(method: method, url: URL(string: url) ?? Bench.url)
    // The URL as it is, whatever Foundation makes of it.
    let rest = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)[2]
    request.authority = String(rest.prefix { $0 != "/" })
    request.path = String(rest.drop { $0 != "/" })
    if method == .query { request.headerFields[.contentType] = "text/plain" }
    return request
  }

  @Test(arguments: [CacheRules.private, .shared()], rules)
  func `answers for no other URL, user, secret, method or variant in a proxy`(
    rules: CacheRules, rule: String
  ) async throws {
    let cache = ProxyCache(persistence: MemoryPersistence(), rules: rules, honorsNoVarySearch: true)
    let hostile = Self.request(.get, "https://api.example.com/a?u=evil")
    guard case .send(let exchange) = await cache.plan(for: hostile, scope: "ada", at: CachingExample.time) else {
      Issue.record("it is answered")
      return
    }
    let body = Data(Self.canary.utf8)
    let response = HTTPResponse(status: .ok, headerFields: Self.fields(rule))
    #expect(await cache.receive(response, body: body, for: exchange, at: CachingExample.time).isStored)
    for other in Self.others {
      let plan = await cache.plan(
        for: Self.request(other.method, other.url), body: Data("a".utf8), scope: other.scope, at: CachingExample.time)
      guard case .send(let exchange) = plan else {
        Issue.record("\(other) is answered")
        continue
      }
      #expect(cache.staleAnswer(for: exchange, at: CachingExample.time, always: true) == nil)
    }
    var variant = hostile
    variant.path = "/a?u=2"
    variant.headerFields[.accept] = "text/plain"
    guard case .send = await cache.plan(for: variant, scope: "ada", at: CachingExample.time) else {
      Issue.record("another variant is answered")
      return
    }
  }

  @Test(arguments: rules) func `answers for no other URL, user or secret in a layer`(rule: String) async throws {
    let (store, clock) = (MemoryPersistence(), TestClock())
    let transport = ScriptedTransport { request, _ in
      let text = request.path == "/v1/a?u=evil" ? Self.canary : "honest"
      return .json(Note(1, text).json, headers: Self.fields(rule))
    }
    let ada = Bench(persistence: store, clock: clock, transport: transport, scope: "ada")
    #expect(try await ada.notes.fetch("a?u=evil").text == Self.canary)
    for path: Resource in ["b?u=1", "a/?u=1", "A?u=1", "?u=1", "a/b?u=1", "a?u=1&token=x", "a?n=%253Ftoken%253Dx"] {
      #expect(try await ada.notes.fetch(path).text == "honest", "\(path)")
    }
    let variant = Resource("a?u=2", headers: [.accept: "text/plain"])
    #expect(try await ada.notes.fetch(variant).text == "honest")
    let bob = Bench(persistence: store, clock: clock, transport: transport, scope: "bob")
    #expect(try await bob.notes.fetch("a?u=2").text == "honest")
    #expect(ada.log.count(.equivalentHit) == 0 && bob.log.count(.equivalentHit) == 0)
  }

  @Test func `is not read from a shared cache that was not told to`() async throws {
    let cache = ProxyCache(persistence: MemoryPersistence(), rules: .shared())
    for path in ["a?u=1", "a?u=2"] {
      let request = Self.request(.get, "https://api.example.com/\(path)")
      guard case .send(let exchange) = await cache.plan(for: request, at: CachingExample.time) else {
        Issue.record("\(path) is answered")
        return
      }
      let response = HTTPResponse(status: .ok, headerFields: Self.fields("except=()"))
      _ = await cache.receive(response, body: Data(), for: exchange, at: CachingExample.time)
    }
  }
}
