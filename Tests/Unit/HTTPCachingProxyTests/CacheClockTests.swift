import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// A server beside a cache: one number a path, which a PUT counts up.
private struct CachedServer {
  let clock = TestClock()
  let persistence: any Persistence
  var versions: [String: Int] = [:]

  init(_ persistence: any Persistence = MemoryPersistence()) { self.persistence = persistence }

  struct Outcome {
    var source: CacheResponse.Source
    var isStored: Bool
    var body: String
  }

  /// One client's request, whole.
  mutating func request(
    _ method: HTTPRequest.Method, _ path: String, scope: Scope = .shared, fields: HTTPFields = [:],
    maximumAge: Int = 600
  ) async -> Outcome {
    let cache = ProxyCache(persistence: persistence)
    let request = HTTPRequest(
      method: method, scheme: "https", authority: "api.example.com", path: path, headerFields: fields)
    switch await cache.plan(for: request, scope: scope, at: clock.date) {
    case .answer(let answer): return outcome(answer)
    case .answerAndSend(let answer, _): return outcome(answer)
    case .send(let exchange):
      clock.advance(by: .milliseconds(100))
      if !Invalidation.isSafe(method) { versions[path, default: 1] += 1 }
      let fields: HTTPFields = [.cacheControl: Invalidation.isSafe(method) ? "max-age=\(maximumAge)" : "no-store"]
      let body = Data("\(versions[path, default: 1])".utf8)
      return outcome(
        await cache.receive(HTTPResponse(status: .ok, headerFields: fields), body: body, for: exchange, at: clock.date))
    }
  }

  mutating func request(
    _ path: String, scope: Scope = .shared, fields: HTTPFields = [:], maximumAge: Int = 600
  ) async -> Outcome {
    await request(.get, path, scope: scope, fields: fields, maximumAge: maximumAge)
  }

  private func outcome(_ answer: CacheResponse) -> Outcome {
    Outcome(source: answer.source, isStored: answer.isStored, body: String(decoding: answer.body, as: UTF8.self))
  }
}

@Suite struct `A proxy's cache, whose clock is set` {
  @Test func `a new response replaces a stored one from the future`() async throws {
    var server = CachedServer()
    _ = await server.request("/a")
    server.clock.setWallClock(back: .seconds(3_600))
    for version in 2...4 {
      server.versions["/a"] = version
      let answer = await server.request("/a", fields: [.cacheControl: "no-cache"])
      #expect(answer.isStored && answer.body == "\(version)")
      #expect(await server.request("/a").source == .stored)
    }
    server.clock.advance(by: .seconds(300))
    #expect(await server.request("/a").body == "4")
  }

  @Test func `an invalidated response stays stale when the clock is set back`() async throws {
    var server = CachedServer()
    _ = await server.request("/a", maximumAge: 86_400)
    server.clock.advance(by: .seconds(3_600))
    _ = await server.request(.put, "/a")
    server.clock.setWallClock(back: .seconds(1_800))
    let answer = await server.request("/a")
    #expect(answer.source == .network && answer.body == "2")
  }

  @Test func `a proxy's cache, whose clock is set, sees an invalidation of what was stale already`() async throws {
    var server = CachedServer()
    _ = await server.request("/a")
    _ = await server.request(.put, "/a")
    let cache = ProxyCache(persistence: server.persistence)
    let get = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/a")
    guard case .send(let slow) = await cache.plan(for: get, at: server.clock.date) else { return #expect(Bool(false)) }
    _ = await server.request(.put, "/a")
    let answer = await cache.receive(
      HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=600"]), body: Data("2".utf8), for: slow,
      at: server.clock.date)
    #expect(!answer.isStored)
    #expect(await server.request("/a").body == "3")
  }
}

@Suite struct `A proxy's cache, whatever the path` {
  private static let paths = [
    "/a|b", "/a[b]", "/a%zz", "/a\"b", "/a b", "/%7C", "/a^b`{c}", "/?a[]=1&b=|", "/ü", "/a%", "/%25zz", "/a\\b",
  ]

  @Test(arguments: paths) func `a response is stale in every scope after one scope's change`(path: String) async throws
  {
    var server = CachedServer()
    _ = await server.request(path, scope: "alice")
    #expect(await server.request(path, scope: "alice").source == .stored)
    _ = await server.request(.put, path, scope: "bob")
    let answer = await server.request(path, scope: "alice")
    #expect(answer.source == .network && answer.body == "2")
  }

  @Test(arguments: paths, ["", "https://api.example.com"])
  func `a response that an answer names is stale in every scope`(path: String, origin: String) async throws {
    guard path.utf8.allSatisfy({ $0 < 0x80 }) else { return }
    var server = CachedServer()
    _ = await server.request(path, scope: "alice")
    let cache = ProxyCache(persistence: server.persistence)
    let post = HTTPRequest(method: .post, scheme: "https", authority: "api.example.com", path: "/other")
    guard case .send(let exchange) = await cache.plan(for: post, scope: "bob", at: server.clock.date) else {
      return #expect(Bool(false))
    }
    let response = HTTPResponse(status: .created, headerFields: [.location: origin + path])
    _ = await cache.receive(response, body: Data(), for: exchange, at: server.clock.date)
    #expect(await server.request(path, scope: "alice").source == .network)
  }
}

/// The cache beside a model of one line: whatever happened, what is stored is the server's present
/// word, and what may be stored is.
@Suite struct `A proxy's cache beside a model` {
  @Test(arguments: 0..<4)
  func `whatever clients and clocks do, no client gets an old response, and the cache works`(_ store: Int) async {
    var generator = SeededGenerator(seed: Chance.seed("A walk of the cache (\(store))"))
    for _ in 0..<Chance.count("REACTOR_WALKS", default: 40) { await walk(&generator) }
  }

  private func walk(_ generator: inout SeededGenerator) async {
    var server = CachedServer()
    let paths = (0..<3).map { _ in path(&generator) }
    var log: [String] = []
    for _ in 0..<40 {
      let path = paths.randomElement(using: &generator) ?? "/"
      let scope = Scope(["alice", "bob", "carol"].randomElement(using: &generator) ?? "")
      switch Int.random(in: 0..<10, using: &generator) {
      case 0: server.clock.setWallClock(back: .milliseconds(Int.random(in: 0...5_000_000, using: &generator)))
      case 1: server.clock.setWallClock(forward: .milliseconds(Int.random(in: 0...5_000_000, using: &generator)))
      case 2: server.clock.advance(by: .milliseconds(Int.random(in: 0...900_000, using: &generator)))
      case 3:
        log.append("PUT \(path) by \(scope.name) at \(server.clock.date)")
        _ = await server.request(.put, path, scope: scope)
      default:
        let answer = await server.request(path, scope: scope)
        log.append("GET \(path) by \(scope.name) at \(server.clock.date): \(answer)")
        #expect(answer.body == "\(server.versions[path, default: 1])", "old: \(log)")
        if answer.source == .network { #expect(answer.isStored, "not stored: \(log)") }
        let again = await server.request(path, scope: scope)
        #expect(again.source == .stored, "asked again: \(log)")
      }
    }
  }

  /// Any visible characters: a client may send them, whatever a URL may hold.
  private func path(_ generator: inout SeededGenerator) -> String {
    let count = Int.random(in: 0...6, using: &generator)
    let bytes = (0..<count).map { _ in UInt8.random(in: 0x21...0x7E, using: &generator) }.filter { $0 != 0x23 }
    return "/" + String(decoding: bytes, as: UTF8.self)
  }
}
