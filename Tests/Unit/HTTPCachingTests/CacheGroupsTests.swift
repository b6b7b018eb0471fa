import Foundation
import HTTPTypes
import Testing

@testable import HTTPCaching

@Suite("Cache groups (RFC 9875)") struct CacheGroupsTests {
  private func groups(_ lines: String...) -> Set<String> {
    var fields = HTTPFields()
    for line in lines { fields.append(HTTPField(name: CacheGroups.members, value: line)) }
    return CacheGroups.names(in: fields, CacheGroups.members)
  }

  @Test func `are strings, over all lines, with their parameters ignored`() {
    #expect(groups("\"eurovision\", \"kiev\"") == ["eurovision", "kiev"])
    #expect(groups("\"a\"", "\"b\";q=1 , \"a\"") == ["a", "b"])
    #expect(groups("\"with, comma\"") == ["with, comma"])
    #expect(groups(#""a \"quoted\" one", "back\\slash""#) == ["a \"quoted\" one", "back\\slash"])
    #expect(groups("\"\"") == [""])
  }

  @Test(arguments: ["a", "\"a\", b", "\"a", "\"a\"x", "1", "\"a\\x\"", "\"a\", ?1", "\"ä\""])
  func `a field that is not a list of strings counts as missing`(_ line: String) {
    #expect(groups(line).isEmpty)
  }

  @Test func `the program's are stored as the server's are, and read back`() {
    var head = Record.Head(
      identity: "", status: .ok, fields: [CacheGroups.members: "\"server\""], requestedAt: .distantPast,
      receivedAt: .distantPast)
    head.join(["own", "with \"quotes\" and \\", "über"])
    #expect(head.groups == ["server", "own", "with \"quotes\" and \\"])
  }

  @Test func `only a change that succeeded invalidates groups`() {
    let fields: HTTPFields = [CacheGroups.invalidation: "\"a\", \"b\""]
    #expect(CacheGroups.invalidated(by: HTTPResponse(status: .ok, headerFields: fields), to: .post) == ["a", "b"])
    #expect(CacheGroups.invalidated(by: HTTPResponse(status: .ok, headerFields: fields), to: .get).isEmpty)
    #expect(CacheGroups.invalidated(by: HTTPResponse(status: .forbidden, headerFields: fields), to: .post).isEmpty)
  }

  @Test func `keys are found by group, only of the origin, whether the store lists groups or not`() async throws {
    for persistence in [MemoryPersistence(), UnlistedGroups()] as [any Persistence] {
      let cache = HTTPCache(persistence: persistence)
      let urls = ["https://a.example/1", "https://a.example/2", "https://b.example/1"]
      for (index, url) in urls.enumerated() {
        let key = RecordKey(method: .get, url: url)
        let fields: HTTPFields = index == 1 ? [:] : [CacheGroups.members: "\"g\""]
        try await cache.store(
          Record(
            head: Record.Head(
              identity: key.identity, status: .ok, fields: fields, requestedAt: .distantPast, receivedAt: .distantPast),
            body: Data()), for: key)
      }
      let all = try await cache.keys(ofGroups: ["g"], in: nil)
      #expect(all.map(\.url) == [urls[0], urls[2]])
      let own = try await cache.keys(ofGroups: ["g", "h"], in: nil, origin: URL(string: urls[2]))
      #expect(own.map(\.url) == [urls[2]])
    }
  }
}

/// A store that does not list the groups of its records.
private final class UnlistedGroups: Persistence {
  private let memory = MemoryPersistence()

  func load(_ key: RecordKey) async throws -> Record? { try await memory.load(key) }
  func save(_ record: Record, for key: RecordKey) async throws { try await memory.save(record, for: key) }
  func remove(_ key: RecordKey) async throws { try await memory.remove(key) }
  func removeAll(in scope: Scope?) async throws { try await memory.removeAll(in: scope) }
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    try await memory.entries(in: scope, url: url).map { entry in
      var entry = entry
      entry.groups = nil
      return entry
    }
  }
}
