import HTTPCachingProxy
import HTTPTypes
import NIOCore
import ReactorChangeFeed
import ReactorTesting
import Testing

@testable import reactor

@Suite("The changes that a proxy tells", .timeLimit(.minutes(1))) struct LiveChangesTests {
  /// Returns the changes as a client of the proxy is told them.
  private func told(_ changes: CacheChanges, basePath: String = "") async throws -> String {
    let live = LiveChanges(path: "/events", basePath: basePath, clients: 4)
    let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/events")
    let answer = live.answer(to: request) {}
    let stream = try #require(answer?.changes)
    var pieces = stream.makeAsyncIterator()
    _ = await pieces.next()
    live.publish(changes)
    live.feed.shutdown()
    let text = String(decoding: await pieces.next() ?? [], as: UTF8.self)
    let data = text.split(separator: "\n").first { $0.hasPrefix("data: {\"changes\"") }
    return data.map { String($0.dropFirst("data: ".count)) } ?? ""
  }

  @Test func `a change is told by the path that clients of the proxy request`() async throws {
    let changes = CacheChanges(
      urls: ["http://h:81/api/posts?page=2", "http://H:81/api", "http://h:81/apiary", "http://h:81/other"],
      paths: ["http://h:81/api/me"], groups: ["b", "a"])
    #expect(
      try await told(changes, basePath: "/api")
        == #"{"changes":[{"url":"/posts?page=2"},{"under":"/me"},{"group":"a"},{"group":"b"}]}"#)
  }

  @Test func `a path that would name another host is a change of everything`() async throws {
    let changes = CacheChanges(urls: ["http://h//evil.example/x", "http://h/a\"\n"])
    #expect(try await told(changes) == #"{"changes":[{"all":true},{"url":"/a\"\u000a"}]}"#)
  }

  @Test func `nothing is told of a change of nothing that clients can request`() async throws {
    #expect(try await told(CacheChanges(urls: ["http://h/other"]), basePath: "/api") == "")
    #expect(try await told(CacheChanges()) == "")
  }

  @Test(arguments: ["/events/", "/Events", "/event", "/", "/events/7", "*", "/a?/events"])
  func `other paths are the server's`(_ path: String) {
    let live = LiveChanges(path: "/events", basePath: "", clients: 4)
    let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: path)
    let answer = live.answer(to: request) {}
    #expect(answer == nil)
  }

  @Test func `a stream beyond the limit is refused, and told when to come back`() async throws {
    try await ProxyBench.run(script: { _ in .status(200) }) { bench in
      var proxy = bench.proxy
      proxy.live = LiveChanges(path: "/events", basePath: "", clients: 1)
      let request = ForwardedRequest(
        head: HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/events"), body: .init())
      let (first, refused) = (proxy.changes(request) {}, proxy.changes(request) {})
      #expect(first?.response.status == .ok && first?.response.headerFields[.date] != nil)
      #expect(refused?.response.status == .serviceUnavailable && refused?.response.headerFields[.retryAfter] == "10")
      withExtendedLifetime(first) {}
    }
  }
}
