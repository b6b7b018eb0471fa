import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import HTTPCaching
@testable import HTTPCachingProxy

/// The tables of `Rules.md` are this suite's input, so that they say what is. No socket, no clock,
/// no disk.
@Suite("Every rule of HTTP caching") struct CachingTableTests {
  /// The tables of rules, without those of the public suite's results.
  private static let tables = (try? Repository.markdown(path).tables.filter { $0.heading.first != "" }) ?? []
  private static let path = "Sources/HTTPCachingProxy/HTTPCachingProxy.docc/Rules.md"

  private static func rows(_ heading: String...) -> [[String]] {
    tables.first { Array($0.heading.dropFirst(2)) == heading }?.rows ?? []
  }

  @Test func `every rule of HTTP caching has its table, and every table is read`() {
    let headings = [
      ["Stored", "Age", "Request", "Decision"], ["Stored for", "Response", "Age", "QUERY", "Result"],
      ["Value", "Stored", "Request", "Equivalent"], ["Cache", "Stored", "Then", "Age", "Request", "Result"],
      ["Stored", "Age", "Request", "Stands in", "Always"],
      ["Request", "Response", "Stored"],
      ["Stored", "Age", "Request", "A shared cache's decision"], ["Request", "Response", "Stored by a shared cache"],
      ["Stored", "304", "Then"], ["Stored", "Request", "Answer", "Body"],
      ["Vary", "Request", "Other", "Answers"], ["Method", "Response", "Stale"],
    ]
    #expect(Self.tables.map { Array($0.heading.dropFirst(2)) } == headings)
    #expect(Self.tables.allSatisfy { $0.rows.count >= 9 })
    #expect(Self.tables.flatMap(\.rows).allSatisfy { !$0[0].isEmpty && !$0[1].isEmpty })
    #expect(Self.tables.flatMap(\.rows).count > 150)
  }

  @Test(arguments: rows("Stored", "Age", "Request", "Decision"))
  func `a request gets what its row says`(row: [String]) throws {
    let stored = row[2] == "-" ? nil : CachingExample.head(row[2])
    let now = CachingExample.time.addingTimeInterval(try #require(Double(row[3])))
    #expect(CacheDecision(CachingExample.request(row[4]), stored: stored, at: now) == decision(row[5]))
  }

  @Test(arguments: rows("Stored", "Age", "Request", "A shared cache's decision"))
  func `a shared cache gives a request what its row says`(row: [String]) throws {
    let now = CachingExample.time.addingTimeInterval(try #require(Double(row[3])))
    let (request, head) = (CachingExample.request(row[4]), CachingExample.head(row[2]))
    #expect(CacheDecision(request, stored: head, at: now, by: Self.shared) == decision(row[5]))
  }

  @Test(arguments: rows("Stored for", "Response", "Age", "QUERY", "Result"))
  func `a QUERY gets what its row says`(row: [String]) async throws {
    let proxy = Proxy()
    if row[2] != "-" { _ = try await proxy.exchange(row[2], answer: row[3], body: "stored") }
    let (sent, answer) = try await proxy.exchange(row[5], age: try #require(Double(row[4])))
    let result =
      switch (sent, answer?.response.status) {
      case (nil, .ok?): answer?.body == Data("stored".utf8) ? "use" : "another body"
      case (nil, let status?): "\(status.code)"
      case (let sent?, _): sent.headerFields.contains(.ifNoneMatch) ? "validate" : "ask"
      case (nil, nil): "nothing"
      }
    #expect(result == row[6])
  }

  @Test(arguments: rows("Value", "Stored", "Request", "Equivalent"))
  func `another query is equivalent where its row says so`(row: [String]) async throws {
    let proxy = Proxy()
    var fields: HTTPFields = [.cacheControl: "max-age=60"]
    if row[2] != "-" { fields[try #require(HTTPField.Name("No-Vary-Search"))] = CachingExample.plain(row[2]) }
    let exchange = try await proxy.begin(row[3])
    let response = HTTPResponse(status: .ok, headerFields: fields)
    _ = await proxy.cache.receive(response, body: Data("stored".utf8), for: exchange, at: Proxy.time)
    let (sent, answer) = try await proxy.exchange(row[4], age: 1)
    #expect((sent == nil) == (row[5] == "yes"))
    #expect(answer?.statusText == (row[5] == "yes" ? "hit; ttl=59; detail=no-vary-search" : nil))
    // The same by another cache over the store, which has no rule in memory.
    var other = proxy
    other.cache = ProxyCache(persistence: proxy.cache.records.persistence)
    #expect(try await (other.exchange(row[4], age: 1).sent == nil) == (row[5] == "yes"))
  }

  @Test(arguments: rows("Cache", "Stored", "Then", "Age", "Request", "Result"))
  func `another query gets what its row says`(row: [String]) async throws {
    var proxy = Proxy()
    proxy.cache = ProxyCache(
      persistence: MemoryPersistence(), rules: row[2] == "private" ? .private : .shared(),
      honorsNoVarySearch: row[2].hasSuffix("honoring") ? true : nil)
    for (cell, age, body) in [(row[3], 0.0, "the first"), (row[4], 2, "the second")] where cell != "-" {
      let parts = CachingExample.plain(cell).split(separator: "; ", maxSplits: 1).map(String.init)
      _ = try await proxy.exchange(parts[0], age: age, answer: parts.count > 1 ? parts[1] : "200", body: body)
    }
    let (sent, answer) = try await proxy.exchange(row[6], age: try #require(Double(row[5])), answer: "503")
    let body = answer.map { $0.body.isEmpty ? "the head" : String(decoding: $0.body, as: UTF8.self) }
    let used = answer?.response.status == .ok ? body : nil
    let asks = sent.map { $0.headerFields.contains(.ifNoneMatch) ? "validate" : "ask" }
    #expect([asks, used].compactMap(\.self).joined(separator: ", else ") == row[7])
  }

  private static let shared = CacheRules.shared(
    targets: ["Reactor-Cache-Control", "CDN-Cache-Control"].compactMap { HTTPField.Name($0) })

  private func decision(_ cell: String) -> CacheDecision {
    switch cell {
    case "use": .use
    case "revalidate": .useAndRevalidate
    case "validate": .ask(validates: true)
    case "ask": .ask(validates: false)
    default: .gatewayTimeout
    }
  }

  @Test(arguments: rows("Stored", "Age", "Request", "Stands in", "Always"))
  func `a stale response is the fallback if its row says so`(row: [String]) throws {
    let now = CachingExample.time.addingTimeInterval(try #require(Double(row[3])))
    for (always, cell) in [(false, row[5]), (true, row[6])] {
      let isUsed = CacheDecision.allowsStale(
        CachingExample.head(row[2]), for: CachingExample.request(row[4]), at: now, always: always)
      #expect(isUsed == (cell == "yes"), "always: \(always)")
    }
  }

  @Test(arguments: rows("Request", "Response", "Stored"))
  func `a response is stored where its row says so`(row: [String]) {
    let request = CachingExample.request(row[2])
    var head = CachingExample.head(row[3])
    head.variant = Record.Variant(response: head.fields, request: request.headerFields)
    #expect((head.effect(of: request.headerFields) == .store) == (row[4] == "yes"))
  }

  @Test(arguments: rows("Request", "Response", "Stored by a shared cache"))
  func `a shared cache stores a response where its row says so`(row: [String]) {
    let (request, head) = (CachingExample.request(row[2]), CachingExample.head(row[3]))
    let setsCookies = head.fields.contains(.setCookie)
    let effect = head.effect(of: request.headerFields, setsCookies: setsCookies, by: Self.shared)
    #expect((effect == .store) == (row[4] == "yes"))
  }

  @Test(arguments: rows("Stored", "304", "Then"))
  func `the stored fields after a 304 are those of its row`(row: [String]) {
    let (time, later) = (CachingExample.time, CachingExample.time.addingTimeInterval(100))
    let key = RecordKey(method: .get, url: "https://api.example.com/a")
    func judge(_ text: String, _ status: HTTPResponse.Status, _ stored: Record.Head?) -> HTTPCache.Judgement {
      HTTPCache.judge(
        HTTPResponse(status: status, headerFields: CachingExample.head(text).fields), body: Data(), to: [:], for: key,
        stored: stored, requestedAt: stored == nil ? time : later, receivedAt: stored == nil ? time : later)
    }
    guard case .received(let record) = judge(row[2], .ok, nil) else { return #expect(Bool(false)) }
    switch judge(row[3], .notModified, record.head) {
    case .notModified(let head): #expect(head.fields == CachingExample.head(row[4]).fields)
    case .mismatched: #expect(row[4] == "asked again")
    case .received: Issue.record("no 304")
    }
  }

  @Test(arguments: rows("Stored", "Request", "Answer", "Body"))
  func `a client's own conditions get what their row says`(row: [String]) throws {
    let record = Record(head: CachingExample.head(row[2]), body: Data("0123456789".utf8))
    let age = record.head.copyStatus(at: CachingExample.time.addingTimeInterval(7))?.age
    let (response, body) = StoredResponse.make(record, for: CachingExample.request(row[3]), age: try #require(age))
    let expected = CachingExample.head(row[4])
    #expect(response.status == expected.status)
    #expect(response.headerFields == expected.fields)
    #expect(String(decoding: body, as: UTF8.self) == CachingExample.plain(row[5]))
  }

  @Test(arguments: rows("Vary", "Request", "Other", "Answers"))
  func `a variant answers where its row says so`(row: [String]) throws {
    let variant = try #require(
      Record.Variant(
        response: [.vary: CachingExample.plain(row[2])], request: CachingExample.request(row[3]).headerFields))
    #expect(variant.matches(CachingExample.request(row[4]).headerFields) == (row[5] == "yes"))
  }

  @Test(arguments: rows("Method", "Response", "Stale"))
  func `an unsafe request makes stale what its row says`(row: [String]) throws {
    let head = CachingExample.head(row[3])
    let (target, response) = ("https://api.example.com/a", HTTPResponse(status: head.status, headerFields: head.fields))
    let method = try #require(HTTPRequest.Method(rawValue: CachingExample.plain(row[2])))
    let urls =
      (Invalidation.isCaused(by: method, response) ? [target] : [])
      + Invalidation.relatedURLs(in: response, to: method, target)
    let paths = urls.map { $0.replacing("https://api.example.com", with: "") }
    #expect(paths.joined(separator: " ") == CachingExample.plain(row[4]))
  }
}
