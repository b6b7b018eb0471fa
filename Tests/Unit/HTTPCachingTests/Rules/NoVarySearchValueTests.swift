import Foundation
import HTTPTypes
import ReactorTesting
import TestSupport
import Testing

@testable import HTTPCaching

/// The value, its limits and its notes; Rules.md has the rows.
@Suite("No-Vary-Search") struct NoVarySearchValueTests {
  private func value(_ text: String) -> NoVarySearch? { NoVarySearch([NoVarySearch.field: text]) }

  private func key(_ target: String) -> RecordKey { RecordKey(method: .get, url: "https://a.example\(target)") }

  @Test func `of more than 4 KiB or 64 names, or a query of more than 256 items, matches exactly`() {
    #expect(value("except=(" + (1...64).map { "\"n\($0)\"" }.joined(separator: " ") + ")") != nil)
    #expect(value("except=(" + (1...65).map { "\"n\($0)\"" }.joined(separator: " ") + ")") == nil)
    let name = String(repeating: "n", count: 4_096 - #"params=("")"#.count)
    #expect(value("params=(\"\(name)\")") != nil && value("params=(\"\(name)n\")") == nil)
    // Over several lines too.
    var fields: HTTPFields = [NoVarySearch.field: "params=(\"\(name)\")"]
    fields.append(HTTPField(name: NoVarySearch.field, value: "key-order"))
    #expect(NoVarySearch(fields) == nil)
    let query = "?" + (1...256).map { "a=\($0)" }.joined(separator: "&")
    #expect(value("key-order").flatMap(key("/p\(query)").alias) != nil)
    #expect(value("key-order").flatMap(key("/p\(query)&a=257").alias) == nil)
    #expect(value("key-order").flatMap(key("/p#?a").alias) == nil)
  }

  @Test func `over several lines is one dictionary`() {
    var fields: HTTPFields = [NoVarySearch.field: #"params=("u")"#]
    fields.append(HTTPField(name: NoVarySearch.field, value: "key-order"))
    #expect(NoVarySearch(fields) == value(#"key-order, params=("u")"#))
  }

  /// The aliases of queries are equal exactly if their decoded items are, by a slow comparison.
  @Test(arguments: [#"params=("a")"#, "key-order", #"except=("a" "b")"#, #"key-order, params=("b" "")"#, "except=()"])
  func `compares queries as a slow comparison does`(text: String) throws {
    let rule = try #require(value(text))
    var chance = SeededGenerator(seed: Chance.seed("NoVarySearchValueTests"))
    let pieces = [
      "a", "b", "%61", "%41", "=", "=", "&", "&", "+", "%20", "%2B", "c", "%zz", "%", "?", "/", "%26", "%3D",
    ]
    let queries = (0..<150).map { _ in
      (0..<Int.random(in: 0...8, using: &chance)).compactMap { _ in pieces.randomElement(using: &chance) }.joined()
    }
    let compared = queries.map { (alias: key("/p?\($0)").alias(by: rule), items: items($0, text)) }
    for (index, first) in compared.enumerated() {
      let differing = compared[..<index].firstIndex { ($0.alias == first.alias) != ($0.items == first.items) }
      #expect(differing == nil, "\(queries[differing ?? 0]) and \(queries[index])")
    }
  }

  /// The items that select, as the draft describes them in words, of queries in ASCII.
  private func items(_ query: String, _ text: String) -> [[String]] {
    func decode(_ text: Substring) -> String {
      var (decoded, rest) = ("", text.replacing("+", with: " ")[...])
      while let first = rest.popFirst() {
        if first == "%", rest.count >= 2, let byte = UInt8(rest.prefix(2), radix: 16) {
          decoded.unicodeScalars.append(Unicode.Scalar(byte))
          rest = rest.dropFirst(2)
        } else {
          decoded.append(first)
        }
      }
      return decoded
    }
    let names = text.matches(of: /"([^"]*)"/).map { String($0.output.1) }
    let all = query.split(separator: "&").map { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return [decode(parts[0]), parts.count > 1 ? decode(parts[1]) : ""]
    }
    let kept = all.filter { names.contains($0[0]) == text.contains("except") }
    guard text.contains("key-order") else { return kept }
    return Set(kept.map { $0[0] }).sorted().flatMap { name in kept.filter { $0[0] == name } }
  }

  @Test func `of the paths that were used last stays in memory`() {
    let rules = PathRules()
    for path in 0..<PathRules.limit { rules.note(nil, of: path) }
    #expect(rules.known(0) == .some(nil))
    rules.note(nil, of: PathRules.limit)
    #expect(rules.known(0) == .some(nil) && rules.known(1) == nil)
    #expect((0...PathRules.limit).count { rules.known($0) != nil } == PathRules.limit + 1 - PathRules.limit / 8)
  }

  @Test func `is read from the store once for each path that has none, and never for a hit`() async throws {
    let store = CountingStore()
    let cache = HTTPCache(persistence: store)
    for target in ["/p?a", "/p?b", "/p", "/q"] { _ = await newest(cache, nil, target) }
    #expect(store.loads.value == 2)
    let record = Record(head: CachingExample.head("Cache-Control: max-age=60"), body: Data())
    #expect(await newest(cache, record, "/r").record == record)
    #expect(store.loads.value == 2)
  }

  @Test func `hides its notes from the lists of a cache, which names of URLs cannot imitate`() async throws {
    let cache = HTTPCache(persistence: MemoryPersistence())
    let fields = CachingExample.head(#"No-Vary-Search: except=(); Cache-Control: max-age=60"#).fields
    let keys = ["/p", "/p?", "/p?u=1", "/p%0A:search", "/p?%0A:search"].map(key)
    for key in keys {
      let record = Record(
        head: Record.Head(
          identity: key.identity, status: .ok, fields: fields, requestedAt: CachingExample.time,
          receivedAt: CachingExample.time), body: Data())
      try await cache.store(record, for: key)
    }
    #expect(Set(try await cache.keys(in: nil) { _ in true }) == Set(keys))
    #expect(try await cache.keys(of: "https://a.example/p", in: nil) == [keys[0]])
    #expect(try await cache.keys(of: "https://a.example/p?", in: nil) == [keys[1]])
    #expect(keys.allSatisfy { !$0.isNote })
  }

  private func newest(
    _ cache: HTTPCache, _ exact: Record?, _ target: String
  ) async -> (record: Record?, equivalent: RecordKey?) {
    await cache.newest(exact, of: key(target), for: [:], at: CachingExample.time) { _ in true }
  }
}

private struct CountingStore: Persistence {
  let base = MemoryPersistence()
  let loads = Shared(0)

  func load(_ key: RecordKey) async throws -> Record? {
    loads.change { $0 += 1 }
    return try await base.load(key)
  }
  func save(_ record: Record, for key: RecordKey) async throws { try await base.save(record, for: key) }
  func remove(_ key: RecordKey) async throws { try await base.remove(key) }
  func removeAll(in scope: Scope?) async throws { try await base.removeAll(in: scope) }
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await base.entries(in: scope, url: url)
  }
}
