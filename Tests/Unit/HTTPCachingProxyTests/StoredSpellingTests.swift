import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCachingProxy

@Suite struct `A URL in one spelling` {
  private static let spellings = [
    ("https://api.example.com/m", "https://api.example.com/%6D"),
    ("https://api.example.com/m", "https://api.example.com/%6d"),
    ("https://api.example.com/~a-b._", "https://api.example.com/%7Ea%2db%2e%5F"),
    ("https://api.example.com/a?b=c", "https://api.example.com/a?%62=%63"),
    ("https://api.example.com/%2F%C3%BC", "https://api.example.com/%2f%c3%bC"),
    ("https://api.example.com/A", "HTTPS://API.Example.COM/A"),
    ("https://api.example.com/", "https://api.example.com"),
    ("https://api.example.com/?q", "https://api.example.com?q"),
    ("https://api.example.com/", "https://api.example.com:443/"),
  ]

  @Test(arguments: spellings)
  func `a URL in one spelling reaches what is stored under another`(spelling: String, other: String) async throws {
    let cache = ProxyCache(persistence: MemoryPersistence())
    func request(_ url: String, _ method: HTTPRequest.Method = .get) throws -> HTTPRequest {
      let rest = url.dropFirst("https://".count)
      let end = rest.firstIndex { "/?".contains($0) } ?? rest.endIndex
      return HTTPRequest(method: method, scheme: "https", authority: String(rest[..<end]), path: String(rest[end...]))
    }
    guard case .send(let get) = await cache.plan(for: try request(spelling), at: CachingExample.time) else {
      throw Proxy.NotSent()
    }
    let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"])
    _ = await cache.receive(response, body: Data("old".utf8), for: get, at: CachingExample.time)
    guard case .answer = await cache.plan(for: try request(other), at: CachingExample.time) else {
      throw Proxy.NotSent()
    }
    guard case .send(let post) = await cache.plan(for: try request(other, .post), at: CachingExample.time) else {
      throw Proxy.NotSent()
    }
    // What is sent stays as the client wrote it.
    #expect(post.request == (try request(other, .post)))
    _ = await cache.receive(HTTPResponse(status: .noContent), body: Data(), for: post, at: CachingExample.time)
    guard case .send = await cache.plan(for: try request(spelling), at: CachingExample.time) else {
      throw Proxy.NotSent()
    }
  }
}
