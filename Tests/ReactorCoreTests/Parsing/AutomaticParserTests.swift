import Foundation
import Testing

@testable import ReactorCore

@Suite struct `The parser chosen at run time` {
  /// Both; the maps write what Codable does not.
  struct Both: Codable, Mappable, Hashable {
    var id: Int
    static func mapToModel(_ json: JSONValue) throws -> Both { Both(id: try json.integer("mapped")) }
    func mapToJSON() -> JSONValue { ["mapped": .integer(Int64(id))] }
  }

  struct Neither: Sendable {}

  private func parse<Model: Sendable>(_ text: String, as type: Model.Type = Model.self) throws -> Parsed<Model> {
    try Parser<Model>.automatic().parse(text.data)
  }

  @Test func `maps before it decodes`() throws {
    #expect(try parse(#"{"mapped":1,"id":2}"#).model == Both(id: 1))
    #expect(try parse(#"[{"mapped":1},{"id":2}]"#).model == [Both(id: 1)])
    #expect(try Parser<Both>.automatic().encode(Both(id: 1))?.text == #"{"mapped":1}"#)
  }

  @Test func `decodes and prunes arrays`() throws {
    let parsed = try parse(#"[{"id":1,"title":"a"},{"id":2}]"#, as: [Story].self)
    #expect(parsed.model == [Story(id: 1, title: "a")])
    #expect(parsed.pruned.map(\.index) == [1])
    #expect(try parse(#"{"id":1,"title":"a"}"#, as: Story.self).model == Story(id: 1, title: "a"))
    #expect(try parse("null", as: Story?.self).model == nil)
    #expect(try Parser<[Story]>.automatic(keyPath: "d").encode([])?.text == #"{"d":[]}"#)
  }

  @Test func `is strict where told to, and follows the key path`() throws {
    let text = #"{"d":[1]}"#.data
    #expect(try Parser<[Story]>.automatic(keyPath: "d").parse(text).pruned.count == 1)
    #expect(throws: ParserError.self) { try Parser<[Story]>.automatic(keyPath: "d", mode: .strict).parse(text) }
    #expect(try Parser<[MappedStory]>.automatic(keyPath: "d").parse(text).pruned.count == 1)
    #expect(throws: ParserError.self) { try Parser<[MappedStory]>.automatic(keyPath: "d", mode: .strict).parse(text) }
  }

  @Test func `keeps any JSON as it is`() throws {
    #expect(try parse("[1,1.0]", as: JSONValue.self).model == [1, 1.0])
    #expect(try parse("[1,null]", as: [JSONValue].self).model == [1, nil])
  }

  @Test(arguments: ["", "<html>", "{}"])
  func `ignores the bytes where there is nothing to make`(_ text: String) throws {
    _ = try parse(text, as: Void.self)
    #expect(try Parser<Void>.automatic().encode(()) == Data())
  }

  @Test func `says so where there is none`() throws {
    let error = try #require(throws: ParserError.self) { try parse("{}", as: Neither.self) }
    #expect(error.reason == .unsupported)
    #expect(error.expected == "Neither is neither Codable nor Mappable")
    #expect(throws: ParserError.self) { try Parser<[Neither]>.automatic().encode([]) }
  }
}
