import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite("The changes that a proxy's cache sees") struct ProxyChangesTests {
  private func changes(
    _ method: HTTPRequest.Method, _ path: String, _ status: HTTPResponse.Status = .ok, _ fields: HTTPFields = [:]
  ) async throws -> CacheChanges {
    let cache = ProxyCache(persistence: MemoryPersistence())
    let request = HTTPRequest(method: method, scheme: "https", authority: "a.example", path: path)
    guard case .send(let exchange) = await cache.plan(for: request, at: Date(timeIntervalSinceReferenceDate: 0)) else {
      throw CancellationError()
    }
    return cache.changes(by: HTTPResponse(status: status, headerFields: fields), to: exchange)
  }

  @Test func `a change is of its target, and of the URLs and groups that the response names`() async throws {
    let created = try await changes(
      .post, "/posts", .created,
      [
        .location: "/posts/7", .contentLocation: "https://other.example/posts/7",
        CacheGroups.invalidation: "\"feed\", \"front\"",
      ])
    #expect(created.urls == ["https://a.example/posts", "https://a.example/posts/7"])
    #expect(created.groups == ["feed", "front"] && created.paths.isEmpty)
  }

  @Test(arguments: [("GET", 200), ("HEAD", 200), ("QUERY", 200), ("POST", 404), ("DELETE", 500)])
  func `a safe request and one that failed have changed nothing`(_ method: String, _ status: Int) async throws {
    let method = try #require(HTTPRequest.Method(rawValue: method))
    let changes = try await changes(
      method, "/posts", .init(code: status), [.location: "/posts/7", CacheGroups.invalidation: "\"feed\""])
    #expect(changes.isEmpty)
  }

  @Test(arguments: [
    ("/me?access_token=c4nary", "https://a.example/me"), ("/me?a=1&token=c4nary#x", "https://a.example/me"),
    ("/me;token=c4nary/photos", "https://a.example/"),
  ])
  func `a change names no secret, but what is above it`(_ path: String, _ expected: String) async throws {
    let changed = try await changes(.put, path, .noContent, [.contentLocation: path])
    #expect(changed.urls.isEmpty)
    #expect(Set(changed.paths) == [expected])
  }
}
