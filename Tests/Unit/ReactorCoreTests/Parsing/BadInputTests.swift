import Foundation
import Testing

@testable import ReactorCore

@Suite struct `Bad input gets a precise error` {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var data: Data
    var reason: ParserError.Reason
    var path = ""
    var line = 1
    var column: Int
    var offset: Int
    var expected: String

    init(
      _ name: String, _ data: Data, _ reason: ParserError.Reason, at offset: Int, line: Int = 1, column: Int? = nil,
      path: String = "", _ expected: String
    ) {
      self.name = name
      self.data = data
      self.reason = reason
      self.path = path
      self.line = line
      self.column = column ?? offset + 1
      self.offset = offset
      self.expected = expected
    }

    var testDescription: String { name }
  }

  static let deepArray = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
  static let deepObject = String(repeating: #"{"a":"#, count: 10_000) + "1" + String(repeating: "}", count: 10_000)

  static let cases: [Case] = [
    Case("empty", Data(), .empty, at: 0, "expected JSON, found no bytes"),
    Case(
      "white space only", " \n ".data, .notJSON, at: 3, line: 2, column: 2,
      "expected a JSON value, found the end of the text"),
    Case("a word", "nonsense".data, .notJSON, at: 1, "expected null"),
    Case("HTML", "<!doctype html>".data, .notJSON, at: 0, "expected a JSON value"),
    Case("arrays too deep", deepArray.data, .tooDeep, at: 512, "expected at most 512 levels of nesting"),
    Case("objects too deep", deepObject.data, .tooDeep, at: 512 * 5, "expected at most 512 levels of nesting"),
    Case("a byte that is no UTF-8", Data([0x22, 0x61, 0xFF, 0x22]), .notJSON, at: 2, "expected valid UTF-8"),
    Case("an overlong character", Data([0x22, 0xC0, 0x80, 0x22]), .notJSON, at: 1, "expected valid UTF-8"),
    Case("a surrogate in UTF-8", Data([0x22, 0xED, 0xA0, 0x80, 0x22]), .notJSON, at: 1, "expected valid UTF-8"),
    Case("a character cut short", Data([0x22, 0xE2, 0x82]), .notJSON, at: 1, "expected valid UTF-8"),
    Case("a NUL in a string", "\"a\0\"".data, .notJSON, at: 2, "expected no control character in a string"),
    Case("a NUL after the value", "{}\0".data, .notJSON, at: 2, "expected only white space after the value"),
    Case(
      "a missing member in UTF-16", "{}".data(using: .utf16LittleEndian) ?? Data(), .missing, at: 0, path: "id",
      "expected a member id"),
    Case(
      "a new line in a string", "[\n\"a\nb\"]".data, .notJSON, at: 4, line: 2, column: 3,
      "expected no control character in a string"),
    Case(
      "bytes after the value", "{\"id\":1} x".data, .notJSON, at: 9, "expected only white space after the value"
    ),
    Case("two values", "{} {}".data, .notJSON, at: 3, "expected only white space after the value"),
    Case("a trailing comma", "{\"id\":1,}".data, .notJSON, at: 8, "expected a name in quotes"),
    Case("a trailing comma in an array", "[1,]".data, .notJSON, at: 3, "expected a JSON value"),
    Case("a leading zero", "{\"id\":01}".data, .notJSON, at: 7, "expected no digit after a leading 0"),
    Case("a number without digits", "{\"id\":-}".data, .notJSON, at: 7, "expected a digit"),
    Case("a bad escape", #"{"a\x":1}"#.data, .notJSON, at: 4, "expected one of the escapes of JSON"),
    Case("a short escape", #"{"a\u00g0":1}"#.data, .notJSON, at: 7, "expected four hexadecimal digits after \\u"),
    Case("a missing colon", #"{"a" 1}"#.data, .notJSON, at: 5, "expected : after a name"),
    Case("a missing comma", "{\"id\":1 \"title\":2}".data, .notJSON, at: 8, "expected , or } in an object"),
    Case("the wrong bracket", "[1}".data, .notJSON, at: 2, "expected , or ] in an array"),
    Case("an array where an object was expected", " [1]".data, .wrongType, at: 1, "expected an object, found an array"),
    Case("null where an object was expected", "null".data, .wrongType, at: 0, "expected an object, found null"),
    Case("a missing member", " {\"id\":1}".data, .missing, at: 1, path: "title", "expected a member title"),
    Case(
      "a wrong type", "{\"id\":1,\n \"title\":2}".data, .wrongType, at: 18, line: 2, column: 10, path: "title",
      "expected a string, found a number"),
    Case(
      "null where a string was expected", #"{"id":1,"title":null}"#.data, .wrongType, at: 16, path: "title",
      "expected a string, found null"),
    Case(
      "a number beyond Int64", #"{"id":99999999999999999999,"title":"a"}"#.data, .unacceptable, at: 6, path: "id",
      "expected a number that fits Int, found 99999999999999999999"),
    Case(
      "a number beyond Double", #"{"title":"a","id":1e400}"#.data, .unacceptable, at: 18, path: "id",
      "expected a number that fits Int, found 1e400"),
    Case(
      "a fraction where an integer was expected", #"{"id":1.5,"title":"a"}"#.data, .unacceptable, at: 6, path: "id",
      "expected a number that fits Int, found 1.5"),
    Case(
      "half a surrogate pair", #"{"id":1,"title":"a\ud83d"}"#.data, .unacceptable, at: 16, path: "title",
      "expected a string without unpaired surrogates"),
    Case(
      "a nested wrong type", #"{"id":1,"title":"a","writer":{"name":[]}}"#.data, .wrongType, at: 37,
      path: "writer.name", "expected a string, found an array"),
    Case(
      "a wrong type behind a duplicate", #"{"id":"x","id":1,"title":"a"}"#.data, .wrongType, at: 6, path: "id",
      "expected an integer (Int), found a string"),
  ]

  @Test(arguments: cases)
  func `a parser error has the reason, the place and the expectation`(_ bad: Case) throws {
    let error = try #require(throws: ParserError.self) { try Parser<Story>.json().parse(bad.data) }
    #expect(error.reason == bad.reason)
    #expect(error.codingPath == bad.path)
    #expect(error.expected == bad.expected)
    #expect(error.position == .init(offset: bad.offset, line: bad.line, column: bad.column))
    #expect((error.excerpt?.utf8.count ?? 0) <= 80)
  }

  struct KeyPathCase: Sendable, CustomTestStringConvertible {
    var keyPath: String
    var text: String
    var reason: ParserError.Reason
    var path: String
    var offset: Int
    var expected: String
    var testDescription: String { "\(keyPath) in \(text)" }
  }

  @Test(arguments: [
    KeyPathCase(
      keyPath: "data.articles", text: #"{"data":{"a":1}}"#, reason: .missing, path: "data.articles", offset: 8,
      expected: "expected a member articles"),
    KeyPathCase(
      keyPath: "data.articles", text: #"{"articles":[]}"#, reason: .missing, path: "data", offset: 0,
      expected: "expected a member data"),
    KeyPathCase(
      keyPath: "data.articles", text: #"{"data": "x"}"#, reason: .wrongType, path: "data", offset: 9,
      expected: "expected an object, found a string"),
    KeyPathCase(
      keyPath: "data.articles", text: #"{"data":[1,2]}"#, reason: .wrongType, path: "data", offset: 8,
      expected: "expected an object, found an array"),
    KeyPathCase(
      keyPath: "data.1", text: #"{"data":[1]}"#, reason: .missing, path: "data[1]", offset: 8,
      expected: "expected an element 1"),
    KeyPathCase(
      keyPath: "a.b", text: #"{"a":1,"a":{"b":[]}}"#, reason: .wrongType, path: "a", offset: 5,
      expected: "expected an object, found a number"),
    KeyPathCase(
      keyPath: "a", text: #"{"a":{"b":[]}}"#, reason: .wrongType, path: "a", offset: 5,
      expected: "expected an array, found an object"),
  ])
  func `a parser error shows where a key path ends too early`(_ bad: KeyPathCase) throws {
    for parse in [Self.decoded(bad), Self.mapped(bad)] {
      let error = try #require(throws: ParserError.self, performing: parse)
      #expect(error.reason == bad.reason)
      #expect(error.codingPath == bad.path)
      #expect(error.expected == bad.expected)
      #expect(error.position?.offset == bad.offset)
    }
  }

  private static func decoded(_ bad: KeyPathCase) -> () throws -> Void {
    { _ = try Parser<[Story]>.json(keyPath: bad.keyPath).parse(bad.text.data) }
  }

  private static func mapped(_ bad: KeyPathCase) -> () throws -> Void {
    { _ = try Parser<[MappedStory]>.mappable(keyPath: bad.keyPath).parse(bad.text.data) }
  }

  static let sample = #"{"id": -12.5e+3, "tags": ["a\u00e9\n", "é😀", true, false, null], "more": {"x": [[]], "y": {}}}"#
    .data

  @Test(arguments: 0..<sample.count)
  func `no beginning of a text is a text`(_ length: Int) throws {
    let error = try #require(throws: ParserError.self) { try JSONValue(parsing: Self.sample.prefix(length)) }
    #expect(error.reason == (length == 0 ? .empty : .notJSON))
    let offset = try #require(error.position?.offset)
    #expect(offset <= length && offset >= length - 3)
  }

  @Test func `the excerpt is short, whole text, and shows what is invisible`() throws {
    let data = "[\u{202E}\0\n\u{7F}".data + Data([0xFF]) + String(repeating: "é", count: 100).data
    let error = try #require(throws: ParserError.self) { try JSONValue(parsing: data) }
    #expect(error.excerpt?.hasPrefix("\\u{202e}\\u{0}\\n\\u{7f}\u{FFFD}éé") == true)
    #expect((error.excerpt?.utf8.count ?? 99) <= 80)
    #expect(error.description.contains("line 1, column 2 (byte 1)"))
  }
}
