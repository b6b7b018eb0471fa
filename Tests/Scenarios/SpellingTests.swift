import HTTPTypes
import ReactorCore
import ReactorTesting
import TestSupport
import Testing

/// Swift's strings are equal when they look alike; servers, files and users are told apart by
/// bytes.
@Suite("Spellings of one text")
struct SpellingTests {
  static let composed = "caf\u{e9}"
  static let decomposed = "cafe\u{301}"

  @Test func `two spellings are two resources, keys and scopes`() {
    #expect(Self.composed == Self.decomposed)
    #expect(Resource(Self.composed) != Resource(Self.decomposed))
    #expect(Resource("a", query: ["q": Self.composed]) != Resource("a", query: ["q": Self.decomposed]))
    #expect(Resource("a", query: [Self.composed: "1"]) != Resource("a", query: [Self.decomposed: "1"]))
    #expect(Scope(Self.composed) != Scope(Self.decomposed))
    #expect(
      RecordKey(method: .get, url: "https://h/a", scope: Scope(Self.composed))
        != RecordKey(method: .get, url: "https://h/a", scope: Scope(Self.decomposed)))
  }

  @Test func `each spelling has its own model`() async throws {
    let bench = Bench()
    try await bench.notes.save(Note(1, "composed"), for: Resource(Self.composed))
    try await bench.notes.save(Note(2, "decomposed"), for: Resource(Self.decomposed))
    #expect(bench.notes.cached(Resource(Self.composed))?.id == 1)
    #expect(bench.notes.cached(Resource(Self.decomposed))?.id == 2)
  }

  @Test func `resources are equal whatever the order of header fields with different names`() {
    #expect(
      Resource("a", headers: [.accept: "x", .userAgent: "y"])
        == Resource("a", headers: [.userAgent: "y", .accept: "x"]))
  }

  @Test func `a line break in a URL cannot forge another key`() throws {
    let forged = RecordKey(method: .get, url: "https://h/a\nbody=none")
    #expect(
      forged.identity.split(separator: "\n").count
        == RecordKey(method: .get, url: "https://h/a").identity.split(separator: "\n").count)
    #expect(RecordKey(identity: forged.identity) == forged)
  }
}
