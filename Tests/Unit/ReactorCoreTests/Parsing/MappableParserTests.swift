import Foundation
import Testing

@testable import ReactorCore

@Suite struct `Mappable models` {
  static let text = #"""
    {"data": [{"id": 1, "writer": {"name": "Ann"}},
      {"id": 2, "writer": {"name": 3}}, 4, {"id": 1e400}, {"id": 5, "id": 6}]}
    """#.data

  @Test func `malformed Mappable elements are left out, with path and position`() throws {
    let parsed = try Parser<[MappedStory]>.mappable(keyPath: "data").parse(Self.text)
    #expect(parsed.model == [.init(id: 1, writer: .init(name: "Ann")), .init(id: 5)])
    #expect(parsed.pruned.map(\.index) == [1, 2, 3])
    #expect(parsed.pruned.map(\.error.codingPath) == ["data[1].writer.name", "data[2]", "data[3].id"])
    #expect(parsed.pruned.map(\.error.reason) == [.wrongType, .wrongType, .unacceptable])
    #expect(parsed.pruned.map { $0.error.excerpt?.prefix(2) } == ["3}", "4,", "1e"])
    #expect(parsed.duplicates == ["data[4].id"])
  }

  @Test func `strict parsing fails with the first malformed Mappable element`() throws {
    let error = try #require(throws: ParserError.self) {
      try Parser<[MappedStory]>.mappable(keyPath: "data", mode: .strict).parse(Self.text)
    }
    #expect(error.codingPath == "data[1].writer.name")
    #expect(error.position?.line == 2)
  }

  @Test func `a single malformed Mappable model fails with path and position`() throws {
    let error = try #require(throws: ParserError.self) {
      try Parser<MappedStory>.mappable(keyPath: "data.1").parse(Self.text)
    }
    #expect(error.codingPath == "data[1].writer.name")
    #expect(error.excerpt?.hasPrefix("3}") == true)
  }

  @Test func `a Mappable model is read from its own encoding`() throws {
    let stories = [MappedStory(id: 1), MappedStory(id: 2, writer: .init(name: "é\"\n"))]
    for keyPath in [nil, "data.articles"] {
      let parser = Parser<[MappedStory]>.mappable(keyPath: keyPath)
      #expect(try parser.parse(try #require(try parser.encode(stories))).model == stories)
      let single = Parser<MappedStory>.mappable(keyPath: keyPath)
      #expect(try single.parse(try #require(try single.encode(stories[1]))).model == stories[1])
    }
  }

  @Test func `a Mappable model without JSON has no bytes, nor has an array that contains one`() throws {
    struct Mute: Mappable { static func mapToModel(_ json: JSONValue) -> Mute { Mute() } }
    #expect(try Parser<Mute>.mappable().encode(Mute()) == nil)
    #expect(try Parser<[Mute]>.mappable().encode([Mute()]) == nil)
    #expect(try Parser<[Mute]>.mappable().encode([]) == "[]".data)
  }

  @Test func `a Mappable model's own error is kept`() throws {
    struct Picky: Mappable { static func mapToModel(_ json: JSONValue) throws -> Picky { throw NotAnAddress("it") } }
    let parsed = try Parser<[Picky]>.mappable(mode: .pruneAll).parse("[1]".data)
    #expect(parsed.pruned.map(\.error.expected) == ["it is no address"])
    #expect(parsed.pruned.map(\.error.codingPath) == ["[0]"])
  }
}
