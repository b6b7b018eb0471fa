import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// A proxy's exchanges, one after another, with a server of which only the answers are seen.
struct Proxy {
  static let time = CachingExample.time
  var cache = ProxyCache(persistence: MemoryPersistence())

  /// The request that was sent last, and the client's answer.
  typealias Exchange = (sent: HTTPRequest?, answer: CacheResponse?)

  /// - Parameters:
  ///   - age: seconds since the first exchange.
  ///   - answer: `nil` where the server hangs up.
  ///   - body: `nil` where it is too large to hold.
  ///   - again: the server's answer to the request that is sent in place of the answer.
  func exchange(
    _ request: String = "", age: Double = 0, answer: String? = nil, body: String? = "", again: String? = nil
  ) async throws -> Exchange {
    let now = Self.time.addingTimeInterval(age)
    let plan = await cache.plan(for: CachingExample.request(request), body: CachingExample.body(request), at: now)
    switch plan {
    case .answer(let answer): return (nil, answer)
    case .answerAndSend(let answer, let exchange): return (exchange.request, answer)
    case .send(let exchange):
      guard let answer else { return (exchange.request, cache.staleAnswer(for: exchange, at: now)) }
      let received = await receive(answer, body, for: exchange, age: age)
      guard let again, let retry = received.retry else { return (exchange.request, received) }
      return (retry.request, await receive(again, body, for: retry, age: age))
    }
  }

  /// Plans a request that is answered later.
  func begin(_ request: String = "", scope: Scope = .shared, age: Double = 0) async throws -> CacheRequest {
    let plan = await cache.plan(
      for: CachingExample.request(request), body: CachingExample.body(request), scope: scope,
      at: Self.time.addingTimeInterval(age))
    guard case .send(let exchange) = plan else { throw NotSent() }
    return exchange
  }

  /// Answers a request that was planned.
  func receive(_ answer: String, _ body: String? = "", for exchange: CacheRequest, age: Double) async -> CacheResponse {
    let head = CachingExample.head(answer)
    return await cache.receive(
      HTTPResponse(status: head.status, headerFields: head.fields), body: body.map { Data($0.utf8) }, for: exchange,
      at: Self.time.addingTimeInterval(age))
  }

  struct NotSent: Error {}
}

extension CacheResponse {
  var text: String { "\(response.status.code) \(source) \(String(decoding: body, as: UTF8.self))" }

  /// The member of `Cache-Status`, without the name of the cache.
  var statusText: String? {
    var fields: HTTPFields = [:]
    cacheStatus.append(to: &fields, name: "edge")
    return HTTPField.Name("Cache-Status").flatMap { fields[$0] }?.replacing("edge; ", with: "")
  }
}
