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

  @Test func `the parser chosen at run time maps before it decodes`() throws {
    #expect(try parse(#"{"mapped":1,"id":2}"#).model == Both(id: 1))
    #expect(try parse(#"[{"mapped":1},{"id":2}]"#).model == [Both(id: 1)])
    #expect(try Parser<Both>.automatic().encode(Both(id: 1))?.text == #"{"mapped":1}"#)
  }

  @Test func `the parser chosen at run time decodes and prunes arrays`() throws {
    let parsed = try parse(#"[{"id":1,"title":"a"},{"id":2}]"#, as: [Story].self)
    #expect(parsed.model == [Story(id: 1, title: "a")])
    #expect(parsed.pruned.map(\.index) == [1])
    #expect(try parse(#"{"id":1,"title":"a"}"#, as: Story.self).model == Story(id: 1, title: "a"))
    #expect(try parse("null", as: Story?.self).model == nil)
    #expect(try Parser<[Story]>.automatic(keyPath: "d").encode([])?.text == #"{"d":[]}"#)
  }

  @Test func `the parser chosen at run time follows the mode and the key path`() throws {
    let text = #"{"d":[{"id":1,"title":"a"},1]}"#.data
    #expect(try Parser<[Story]>.automatic(keyPath: "d").parse(text).pruned.count == 1)
    #expect(throws: ParserError.self) { try Parser<[Story]>.automatic(keyPath: "d", mode: .strict).parse(text) }
    #expect(try Parser<[MappedStory]>.automatic(keyPath: "d").parse(text).pruned.count == 1)
    #expect(throws: ParserError.self) { try Parser<[MappedStory]>.automatic(keyPath: "d", mode: .strict).parse(text) }
  }

  @Test func `the parser chosen at run time keeps any JSON as it is`() throws {
    #expect(try parse("[1,1.0]", as: JSONValue.self).model == [1, 1.0])
    #expect(try parse("[1,null]", as: [JSONValue].self).model == [1, nil])
  }

  struct Element: Codable, Hashable, Sendable { var id: Int }
  struct MappedElement: Mappable, Hashable {
    var id: Int
    static func mapToModel(_ json: JSONValue) throws -> MappedElement { MappedElement(id: try json.integer("id")) }
    func mapToJSON() -> JSONValue { ["id": .integer(Int64(id))] }
  }

  /// Returns the results of a parser of a collection for two good elements and a bad one, for bad
  /// ones, for none, and under `.strict`.
  private func behaviour<Model: Collection & Sendable>(of type: Model.Type) throws -> [String] {
    let mixed = #"[{"id":1},{"id":"x"},{"id":2}]"#.data
    let parsed = try Parser<Model>.automatic().parse(mixed)
    let encoded = try #require(try Parser<Model>.automatic().encode(parsed.model))
    return [
      "\(parsed.model.count) of \(parsed.model.count + parsed.prunedCount), not \(parsed.pruned.map(\.error.codingPath))",
      "\(try Parser<Model>.automatic().parse(encoded).model.count) again",
      (try? Parser<Model>.automatic().parse("[0,1]".data)) == nil ? "all bad: an error" : "all bad: none",
      "none: \(try Parser<Model>.automatic().parse("[]".data).model.count)",
      (try? Parser<Model>.automatic(mode: .strict).parse(mixed)) == nil ? "strict: an error" : "strict: some",
    ]
  }

  @Test func `the parser chosen at run time prunes every collection alike, decoded or mapped`() throws {
    let expected = ["2 of 3, not [\"[1].id\"]", "2 again", "all bad: an error", "none: 0", "strict: an error"]
    #expect(try behaviour(of: [Element].self) == expected)
    #expect(try behaviour(of: ContiguousArray<Element>.self) == expected)
    #expect(try behaviour(of: Set<Element>.self) == expected)
    #expect(try behaviour(of: [MappedElement].self) == expected)
    #expect(try behaviour(of: ArraySlice<MappedElement>.self) == expected)
    #expect(try behaviour(of: ContiguousArray<MappedElement>.self) == expected)
    #expect(try behaviour(of: Set<MappedElement>.self) == expected)
  }

  @Test func `the parser chosen at run time gives bytes as they are`() throws {
    for text in ["", "<html>", #""YQ==""#] {
      #expect(try parse(text, as: Data.self).model == text.data)
      #expect(try Parser<Data>.automatic().encode(text.data) == text.data)
    }
    #expect(try Parser<Data>.json().parse(#""YQ==""#.data).model == "a".data)
  }

  @Test(
    arguments: [
      (nil, [0xC3, 0xA9], "é"), ("text/plain", [0xC3, 0xA9], "é"),
      ("text/plain; charset=\"UTF-8\"", [0xC3, 0xA9], "é"),
      ("text/plain;charset=iso-8859-1", [0xE9], "é"), ("text/html; level=1; Charset = windows-1252", [0x80], "€"),
      ("text/plain; charset=utf-16be", [0x00, 0x61], "a"), (nil, [0xEF, 0xBB, 0xBF, 0x61], "a"), (nil, [], ""),
      (nil, [0xE9], nil), ("text/plain; charset=klingon", [0x61], nil), ("text/plain; charset", [0x61], "a"),
    ] as [(String?, [UInt8], String?)])
  func `the parser of text decodes the charset of the content type`(_ type: String?, _ bytes: [UInt8], _ text: String?)
    throws
  {
    #expect((try? Parser<String>.automatic().parse(Data(bytes), contentType: type).model) == text)
    if let text { #expect(try parse(text).model == text) }
  }

  @Test(
    arguments: [
      ("application/json; charset=iso-8859-1", [0xE9], "é"), ("application/json;charset=\"Windows-1252\"", [0x80], "€"),
      ("application/json; charset=iso-8859-1", [0xC3, 0xA9], "é"), ("application/json; charset=utf-8", [0xE9], nil),
      ("application/json; charset=klingon", [0xC3, 0xA9], "é"), ("application/json; charset=klingon", [0xE9], nil),
      ("application/json", [0xE9], nil), (nil, [0xE9], nil), ("application/json; charset=us-ascii", [0xE9], nil),
    ] as [(String?, [UInt8], String?)])
  func `the parser chosen at run time reads JSON that is not UTF-8 in the charset of its content type`(
    _ type: String?, _ bytes: [UInt8], _ text: String?
  ) throws {
    let element = "{\"title\":\"".data + Data(bytes) + "\"}".data
    let list = "[".data + element + "]".data
    func title<Model>(_ parser: Parser<Model>, _ body: Data, _ read: (Model) -> String?) -> String? {
      (try? parser.parse(body, contentType: type)).flatMap { read($0.model) }
    }
    #expect(title(Parser<Titled>.automatic(), element) { $0.title } == text)
    #expect(title(Parser<Titled?>.automatic(), element) { $0?.title } == text)
    #expect(title(Parser<[Titled]>.automatic(), list) { $0.first?.title } == text)
    #expect(title(Parser<[Titled]?>.automatic(), list) { $0?.first?.title } == text)
    #expect(title(Parser<JSONValue>.automatic(), element) { try? $0.string("title") } == text)
    #expect(title(Parser<[JSONValue]>.automatic(), list) { try? $0.first?.string("title") } == text)
    #expect(title(Parser<JSONValue?>.automatic(), element) { try? $0?.string("title") } == text)
    #expect(title(Parser<ContiguousArray<JSONValue>>.automatic(), list) { try? $0.first?.string("title") } == text)
    #expect(title(Parser<Data>.jsonBytes(), element) { try? JSONDecoder().decode(Titled.self, from: $0).title } == text)
  }

  @Test func `the parser chosen at run time reads JSON in UTF-16 that its content type names`() throws {
    for (name, encoding) in [("utf-16", String.Encoding.utf16), ("utf-16le", .utf16LittleEndian)] {
      let body = try #require("{\"title\":\"é€\"}".data(using: encoding))
      let model = try Parser<Titled>.automatic().parse(body, contentType: "application/json; charset=\(name)").model
      #expect(model.title == "é€")
    }
  }

  @Test func `the parser chosen at run time makes nil of no content, and of null`() throws {
    #expect(try parse("", as: Story?.self).model == nil)
    #expect(try parse(" null ", as: MappedStory?.self).model == nil)
    #expect(try parse("", as: [Story]?.self).model == nil)
    #expect(try parse("", as: Data?.self).model == nil)
    #expect(try parse("null", as: String?.self).model == "null")
    #expect(try parse(#"{"id":1}"#, as: MappedStory?.self).model == MappedStory(id: 1))
    #expect(throws: ParserError.self) { try parse("1", as: Story?.self) }
    #expect(try Parser<Story?>.automatic(keyPath: "d").parse(#"{"d":null}"#.data).model == nil)
    let parser = Parser<MappedStory?>.automatic(keyPath: "d")
    for story in [nil, MappedStory(id: 1)] {
      #expect(try parser.parse(try #require(try parser.encode(story))).model == story)
    }
  }

  @Test(arguments: ["", "<html>", "{}"])
  func `the parser chosen at run time ignores the bytes where there is nothing to make`(_ text: String) throws {
    _ = try parse(text, as: Void.self)
    #expect(try Parser<Void>.automatic().encode(()) == Data())
  }

  @Test func `a type without a parser is an error that says so`() throws {
    let error = try #require(throws: ParserError.self) { try parse("{}", as: Neither.self) }
    #expect(error.reason == .unsupported)
    #expect(
      error.expected
        == "Neither is neither Codable nor Mappable; conform it to one of them, or pass a parser to its reactor")
    #expect(throws: ParserError.self) { try parse("{}", as: Neither?.self) }
    #expect(throws: ParserError.self) { try Parser<[Neither]>.automatic().encode([]) }
  }
}

private struct Titled: Decodable, Sendable {
  var title: String
}
