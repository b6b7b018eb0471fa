import Foundation
import HTTPCachingProxy
import Synchronization
import TestSupport
import Testing

// The Swift code of HTTPCachingProxy.docc, which a test compares with it.

/// Sends requests through a cache on disk.
struct CachingClient: Sendable {
  let cache: ProxyCache
  let send: @Sendable (HTTPRequest) async throws -> (HTTPResponse, Data)

  init(
    directory: URL, send: @escaping @Sendable (HTTPRequest) async throws -> (HTTPResponse, Data)
  ) {
    cache = ProxyCache(persistence: FilePersistence(directory: directory))
    self.send = send
  }

  func response(to request: HTTPRequest) async throws -> CacheResponse {
    switch await cache.plan(for: request, at: Date()) {
    case .answer(let answer): return answer
    case .answerAndSend(let answer, let exchange):
      Task { try await complete(exchange) }
      return answer
    case .send(let exchange): return try await complete(exchange)
    }
  }

  @discardableResult private func complete(_ exchange: CacheRequest) async throws -> CacheResponse {
    do {
      let (response, body) = try await send(exchange.request)
      let answer = await cache.receive(response, body: body, for: exchange, at: Date())
      // Seldom, the server has answered to the cache's validators, and not to the client.
      guard let retry = answer.retry else { return answer }
      return try await complete(retry)
    } catch {
      guard let stale = cache.staleAnswer(for: exchange, at: Date()) else { throw error }
      return stale
    }
  }
}

@Suite struct `A cache in front of any client` {
  private static let request = HTTPRequest(
    method: .get, scheme: "https", authority: "api.example.com", path: "/articles")

  @Test func `asks once for what stays fresh`() async throws {
    try await withTemporaryDirectory { directory in
      let requests = Mutex(0)
      let client = CachingClient(directory: directory) { _ in
        requests.withLock { $0 += 1 }
        return (HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), Data("[1]".utf8))
      }
      for source in [CacheResponse.Source.network, .stored, .stored] {
        let answer = try await client.response(to: Self.request)
        #expect(answer.body == Data("[1]".utf8) && answer.source == source)
      }
      #expect(requests.withLock { $0 } == 1)
    }
  }

  @Test func `a cache serves stale responses where the server allows it and does not answer`() async throws {
    struct Offline: Error {}
    try await withTemporaryDirectory { directory in
      let isOffline = Mutex(false)
      let client = CachingClient(directory: directory) { _ in
        if isOffline.withLock({ $0 }) { throw Offline() }
        let fields: HTTPFields = [.cacheControl: "max-age=0, stale-if-error=600"]
        return (HTTPResponse(status: .ok, headerFields: fields), Data("[1]".utf8))
      }
      _ = try await client.response(to: Self.request)
      isOffline.withLock { $0 = true }
      #expect(try await client.response(to: Self.request).source == .stale)
      var other = Self.request
      other.path = "/authors"
      await #expect(throws: Offline.self) { try await client.response(to: other) }
    }
  }
}
