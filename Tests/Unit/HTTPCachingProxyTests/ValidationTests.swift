import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

@Suite struct `A server's answer to the stored validators` {
  private let proxy = Proxy()
  private static let fields = "Cache-Control: max-age=60; ETag: \"a\"; Last-Modified: -9"

  @Test(arguments: ["304; ETag: \"b\"", "304; Last-Modified: +0", "304; ETag: W/\"b\"", "400", "412"])
  func `after a 304 that does not answer the client, the request is sent without the validators`(answer: String)
    async throws
  {
    _ = try await proxy.exchange(answer: Self.fields, body: "one")
    let first = try await proxy.exchange(age: 61, answer: answer, body: "")
    #expect(first.sent?.headerFields[.ifNoneMatch] == "\"a\"" && first.answer?.retry != nil)
    #expect(first.answer?.isStored == false && first.answer?.cacheStatus.isStored == false)
    #expect(first.answer?.source != .validated)

    let next = try await proxy.exchange(
      "X: y", age: 61, answer: answer, body: "two", again: "Cache-Control: max-age=60; ETag: \"b\"")
    #expect(next.sent == CachingExample.request("X: y"))
    #expect(next.answer?.text == "200 network two" && next.answer?.isStored == true)
    #expect(next.answer?.statusText == "fwd=stale; fwd-status=200; stored")
    #expect(try await proxy.exchange(age: 62).answer?.text == "200 stored two")
  }

  @Test(arguments: ["304", "304; ETag: \"a\"", "304; ETag: W/\"a\"", "404", "401", "410"])
  func `a server's answer to the stored validators is the answer, where it is one`(answer: String) async throws {
    _ = try await proxy.exchange(answer: Self.fields, body: "one")
    #expect(try await proxy.exchange(age: 61, answer: answer).answer?.retry == nil)
  }

  @Test func `a server's answer to the stored validators is taken as it is the second time`() async throws {
    _ = try await proxy.exchange(answer: Self.fields, body: "one")
    for status in ["400", "412", "304; ETag: \"b\""] {
      let answer = try await proxy.exchange(age: 61, answer: "304; ETag: \"b\"", again: status).answer
      #expect(answer?.retry == nil && answer?.source == .network && answer?.isStored == false)
    }
    // What is stored may still stand in.
    _ = try await proxy.exchange(
      "Cache-Control: no-cache", age: 61, answer: Self.fields + "; Cache-Control: stale-if-error=60", body: "one")
    let down = try await proxy.exchange(age: 122, answer: "304; ETag: \"b\"", again: "503").answer
    #expect(down?.text == "200 stale one")
    #expect(down?.statusText == "fwd=stale; fwd-status=503")
  }

  @Test func `the second request after a 304 has the client's own conditions`() async throws {
    _ = try await proxy.exchange(answer: Self.fields, body: "one")
    let own = "If-None-Match: \"b\""
    let (sent, answer) = try await proxy.exchange(own, age: 61, answer: "304; ETag: \"b\"", again: "304; ETag: \"b\"")
    #expect(sent == CachingExample.request(own))
    #expect(answer?.text == "304 network " && answer?.isStored == false)
  }

  @Test(arguments: [404, 410, 301, 204]) func `a response of any status is validated by its tag, and by no date`(
    status: Int
  )
    async throws
  {
    _ = try await proxy.exchange(answer: "\(status); \(Self.fields)", body: "none")
    let (sent, answer) = try await proxy.exchange(age: 61, answer: "304; Cache-Control: max-age=60")
    #expect(sent?.headerFields[.ifNoneMatch] == "\"a\"")
    #expect(sent?.headerFields.contains(.ifModifiedSince) == false)
    #expect(answer?.text == "\(status) validated none")
    #expect(try await proxy.exchange(age: 62).answer?.text == "\(status) stored none")
  }
}

@Suite struct `A response to HEAD` {
  private let proxy = Proxy()

  @Test(arguments: ["", "Content-Length: 1"])
  func `a response to a HEAD without validators does not make an invalidated record fresh`(length: String) async throws
  {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60", body: "1")
    _ = try await proxy.exchange("PUT", age: 1, answer: "204")
    _ = try await proxy.exchange("HEAD", age: 2, answer: "Cache-Control: max-age=60; \(length)")
    #expect(try await proxy.exchange(age: 3).sent != nil)
  }

  @Test(arguments: ["ETag: \"a\"", "Last-Modified: -9"])
  func `a response to HEAD confirms nothing where only one side has a validator`(validator: String) async throws {
    for (stored, head) in [(validator, ""), ("", validator)] {
      let proxy = Proxy()
      _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; \(stored)", body: "1")
      _ = try await proxy.exchange("HEAD", age: 61, answer: "Cache-Control: max-age=60; \(head)")
      #expect(try await proxy.exchange(age: 62).sent != nil)
    }
  }

  @Test(arguments: ["ETag: \"a\"", "Last-Modified: -9"])
  func `a response to a HEAD with the stored validator makes an invalidated record fresh`(validator: String)
    async throws
  {
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; \(validator)", body: "1")
    _ = try await proxy.exchange("PUT", age: 1, answer: "204")
    _ = try await proxy.exchange("HEAD", age: 2, answer: "Cache-Control: max-age=60; \(validator)")
    #expect(try await proxy.exchange(age: 3).answer?.text == "200 stored 1")
  }
}

@Suite struct `The coding of a stored response` {
  private static let stored = "Cache-Control: max-age=60; Content-Encoding: gzip"

  @Test(arguments: [
    "identity", "", "br", "gzip;q=0", "gzip; q=0.000, br", "*;q=0", "identity, *;q=0", "deflate", "x-gzip;Q=0",
  ])
  func `a stored coding is not returned to a client that does not accept it`(accepted: String) async throws {
    let proxy = Proxy()
    _ = try await proxy.exchange("Accept-Encoding: gzip", answer: Self.stored, body: "z")
    let (sent, answer) = try await request(accepted, proxy)
    #expect(sent == true && answer?.text == "200 network plain")
  }

  @Test(arguments: ["gzip", "x-gzip", "br, gzip;q=0.5", "*", "GZIP", "identity;q=0, *;q=0.001", nil])
  func `the coding of a stored response is given to a client that does`(accepted: String?) async throws {
    let proxy = Proxy()
    _ = try await proxy.exchange("Accept-Encoding: gzip", answer: Self.stored, body: "z")
    #expect(try await request(accepted, proxy).answer?.text == "200 stored z")
  }

  @Test(arguments: ["utf-8", "aws-chunked", "identity"])
  func `an empty name is no coding`(coding: String) async throws {
    let proxy = Proxy()
    _ = try await proxy.exchange(answer: "Cache-Control: max-age=60; Content-Encoding: \(coding)", body: "z")
    #expect(try await request("br", proxy).answer?.text == "200 stored z")
  }

  @Test func `the coding of a stored response stays apart, though a 304 names fewer fields in Vary`() async throws {
    let proxy = Proxy()
    let fields = "Cache-Control: max-age=60; ETag: \"a\"; Content-Encoding: gzip; Vary: Accept-Encoding, Cookie"
    _ = try await proxy.exchange("Accept-Encoding: gzip", answer: fields, body: "z")
    let validated = try await proxy.exchange("Accept-Encoding: gzip", age: 61, answer: "304; Vary: Cookie").answer
    #expect(validated?.text == "200 validated z")
    #expect(try await proxy.exchange("Accept-Encoding: gzip", age: 62).answer?.text == "200 stored z")
    #expect(try await proxy.exchange("Accept-Encoding: gzip, br", age: 62).sent != nil)
    #expect(try await proxy.exchange("Accept-Encoding: gzip; Cookie: a=b", age: 62).sent != nil)
  }

  private func request(_ accepted: String?, _ proxy: Proxy) async throws -> (sent: Bool, answer: CacheResponse?) {
    var request = CachingExample.request("")
    request.headerFields[.acceptEncoding] = accepted
    switch await proxy.cache.plan(for: request, at: Proxy.time.addingTimeInterval(1)) {
    case .answer(let answer), .answerAndSend(let answer, _): return (false, answer)
    case .send(let exchange):
      return (true, await proxy.receive("Cache-Control: max-age=60", "plain", for: exchange, age: 1))
    }
  }
}
