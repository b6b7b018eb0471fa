import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// A QUERY (RFC 10008) through a proxy, beyond the rows of *The rules*.
@Suite("A QUERY through a proxy")
struct QueryExchangeTests {
  private let proxy = Proxy()
  private let query = #"QUERY; Content-Type: application/json; Body: {"a":1}"#
  private let other = #"QUERY; Content-Type: application/json; Body: {"a":2}"#
  private let fresh = #"ETag: "a"; Cache-Control: max-age=60"#

  @Test func `a QUERY makes no GET of its URL stale`() async throws {
    _ = try await proxy.exchange("", answer: fresh, body: "got")
    _ = try await proxy.exchange(query, answer: fresh, body: "found")
    #expect(try await proxy.exchange("", age: 1).sent == nil)
    #expect(try await proxy.exchange(query, age: 1).answer?.text == "200 stored found")
  }

  @Test(arguments: ["POST", "PUT", "DELETE", "PATCH"])
  func `a QUERY with any content is stale after a change of its URL (RFC 9111, 4.4)`(method: String) async throws {
    for query in [query, other] { _ = try await proxy.exchange(query, answer: fresh, body: "found") }
    _ = try await proxy.exchange(method, age: 1, answer: "204")
    for query in [query, other] {
      #expect(try await proxy.exchange(query, age: 2).sent?.headerFields[.ifNoneMatch] == "\"a\"")
    }
  }

  @Test func `a QUERY is renewed by a 304, and sent again without validators after a 412 (2.6)`() async throws {
    _ = try await proxy.exchange(query, answer: fresh, body: "found")
    #expect(try await proxy.exchange(query, age: 61, answer: "304; " + fresh).answer?.text == "200 validated found")
    #expect(try await proxy.exchange(query, age: 62).sent == nil)
    let (sent, answer) = try await proxy.exchange(query, age: 200, answer: "412", again: fresh)
    #expect(sent?.method == .query && sent?.headerFields[.ifNoneMatch] == nil)
    #expect(answer?.response.status == .ok && answer?.isStored == true)
  }

  @Test func `the answer to a QUERY says why it was sent`() async throws {
    #expect(try await proxy.begin(query).forwardReason == .miss)
    #expect(try await proxy.begin("QUERY; Body: x").forwardReason == .bypass)
    _ = try await proxy.exchange(query, answer: fresh, body: "found")
    #expect(try await proxy.begin(other).forwardReason == .miss)
    #expect(try await proxy.begin(query, age: 61).forwardReason == .stale)
  }

  @Test func `a QUERY waits for an equal one, if the response may be stored`() async throws {
    #expect(try await proxy.begin(query).acceptsCollapsing)
    #expect(try await proxy.begin(query).leadsCollapsing)
    #expect(try await !proxy.begin("QUERY; Body: x").acceptsCollapsing)
  }

  @Test func `the response to a QUERY that is too large, or whose content is not held, is not stored`() async throws {
    let request = CachingExample.request(query)
    for body in [Data(count: HTTPCache.largestQueryBody + 1), nil] {
      for _ in 0..<2 {
        guard case .send(let exchange) = await proxy.cache.plan(for: request, body: body, at: Proxy.time) else {
          Issue.record("it is answered")
          return
        }
        #expect(exchange.forwardReason == .bypass)
        #expect(await !proxy.receive(fresh, "found", for: exchange, age: 0).isStored)
      }
    }
    #expect(try await proxy.cache.keys(of: request.url?.absoluteString ?? "", in: nil).isEmpty)
  }

  @Test func `a QUERY's key separates its content from its content type`() async throws {
    var keys: Set<RecordKey> = []
    for (type, body) in [("a", "b"), ("ab", ""), ("a", "b\ncontent-type=c"), ("a\tb", ""), ("b", "a")] {
      let request = HTTPRequest(
        method: .query, scheme: "https", authority: "api.example.com", path: "/a", headerFields: [.contentType: type])
      guard case .send(let exchange) = await proxy.cache.plan(for: request, body: Data(body.utf8), at: Proxy.time)
      else {
        Issue.record("it is answered")
        return
      }
      keys.insert(exchange.key)
    }
    #expect(keys.count == 5)
  }
}
