import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite("Cache groups at a proxy (RFC 9875)") struct ProxyGroupsTests {
  @Test func `a proxy's client that changes something makes the groups of its origin stale`() async throws {
    let disk = MemoryPersistence()
    let cache = ProxyCache(persistence: disk)
    let now = Date(timeIntervalSinceReferenceDate: 0)
    func exchange(_ method: HTTPRequest.Method, _ url: String, _ fields: HTTPFields) async throws {
      var request = HTTPRequest(method: method, url: try #require(URL(string: url)))
      request.headerFields = [:]
      let plan = await cache.plan(for: request, at: now)
      guard case .send(let sent) = plan else { return }
      _ = await cache.receive(HTTPResponse(status: .ok, headerFields: fields), body: Data(), for: sent, at: now)
    }
    let fresh: HTTPFields = [.cacheControl: "max-age=600", CacheGroups.members: "\"g\""]
    try await exchange(.get, "https://a.example/1", fresh)
    try await exchange(.get, "https://b.example/1", fresh)
    try await exchange(.post, "https://a.example/other", [CacheGroups.invalidation: "\"g\""])
    let stored = try await HTTPCache(persistence: disk).keys(ofGroups: ["g"], in: nil)
    var stale: [String] = []
    for key in stored where try await HTTPCache(persistence: disk).lookUp(key)?.head.invalidatedAt != nil {
      stale.append(key.url)
    }
    #expect(stale == ["https://a.example/1"])
  }
}
