import Foundation
import Testing

@testable import ReactorCore

@Suite struct `JSON as the bytes received` {
  static let text = """
    {"data": [
      {"id": 1, "title": "a"},
      {"id": 2},
      {"id":  3, "title" : "é"},
      {"id": null, "title": "x"},
      7
    ]}

    """.data

  @Test func `JSON as bytes is returned byte for byte`() throws {
    #expect(try Parser.jsonBytes().parse(Self.text).model == Self.text)
    #expect(try Parser.jsonBytes(keyPath: "data.2").parse(Self.text).model.text == #"{"id":  3, "title" : "é"}"#)
    #expect(throws: ParserError.self) { try Parser.jsonBytes().parse("{} x".data) }
  }

  @Test func `JSON as bytes is returned without the elements that lack a member`() throws {
    let parsed = try Parser.jsonBytes(keyPath: "data", requiring: ["id", "title"]).parse(Self.text)
    #expect(parsed.model.text == "[\n  {\"id\": 1, \"title\": \"a\"},\n  {\"id\":  3, \"title\" : \"é\"}\n]")
    #expect(parsed.pruned.map(\.index) == [1, 3, 4])
    #expect(parsed.pruned.map(\.error.reason) == [.missing, .wrongType, .wrongType])
    #expect(parsed.pruned.map(\.error.codingPath) == ["data[1].title", "data[3].id", "data[4]"])
    #expect(parsed.pruned.map(\.error.position?.line) == [3, 5, 6])
  }

  @Test(arguments: [
    ("[1,{\"a\":1}]", "[{\"a\":1}]"), ("[{\"a\":1},2]", "[{\"a\":1}]"), ("[ 1 , 2 ]", "[]"), ("[]", "[]"),
    ("[{\"a\":0,\"a\":null}]", "[{\"a\":0,\"a\":null}]"), ("[{\"a\":null,\"a\":0}]", "[]"),
    ("[{\"b\":{\"a\":1}}]", "[]"), ("[{\"\\u0061\":[]}]", "[{\"\\u0061\":[]}]"),
    ("[{\"a\":{\"a\":null}}]", "[{\"a\":{\"a\":null}}]"),
  ])
  func `JSON as bytes stays valid JSON, whatever is cut out`(_ text: String, _ expected: String) throws {
    let all = Parser.jsonBytes(requiring: ["a"], mode: .pruneAll)
    #expect(try all.parse(text.data).model.text == expected)
    let some = try? Parser.jsonBytes(requiring: ["a"]).parse(text.data).model.text
    #expect(some == (expected == "[]" && text != "[]" ? nil : expected))
  }

  @Test func `JSON as bytes fails if parsing is strict, or if the value itself lacks a member`() throws {
    let strict = try #require(throws: ParserError.self) {
      try Parser.jsonBytes(keyPath: "data", requiring: ["title"], mode: .strict).parse(Self.text)
    }
    #expect(strict.codingPath == "data[1].title")
    let itself = try #require(throws: ParserError.self) {
      try Parser.jsonBytes(requiring: ["b"]).parse(#" {"a":1}"#.data)
    }
    #expect(
      itself
        == ParserError(
          .missing, codingPath: "b", expected: "expected a member b", position: .init(offset: 1, line: 1, column: 2),
          excerpt: #"{"a":1}"#))
    #expect(try Parser.jsonBytes(requiring: ["a"]).parse(#" {"a":1}"#.data).model.text == #" {"a":1}"#)
  }

  @Test func `JSON as bytes is wrapped again when it is encoded`() throws {
    let parser = Parser.jsonBytes(keyPath: "data.articles")
    #expect(try parser.encode("[1, 2]".data)?.text == #"{"data":{"articles":[1, 2]}}"#)
    #expect(try parser.parse(try #require(try parser.encode("[1, 2]".data))).model.text == "[1, 2]")
    #expect(throws: ParserError.self) { try parser.encode("]".data) }
    for encoding in [String.Encoding.utf8, .utf16, .utf32] {
      let data = try #require("\u{FEFF}[1]".data(using: encoding))
      #expect(try parser.encode(data)?.text == #"{"data":{"articles":[1]}}"#)
    }
  }
}
