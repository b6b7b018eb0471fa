import Foundation
import Testing

@testable import ReactorCore

@Suite struct `A JSON value` {
  @Test(
    arguments: [
      ("0", .integer(0)), ("-7", .integer(-7)), ("9223372036854775807", .integer(.max)),
      ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)), ("18446744073709551615", .unsigned(.max)),
      ("18446744073709551616", .number(18_446_744_073_709_551_616)),
      ("-9223372036854775809", .number(-9_223_372_036_854_775_808)),
      ("9007199254740993.0", .integer(9_007_199_254_740_993)),
      ("9.007199254740993e15", .integer(9_007_199_254_740_993)), ("-1e18", .integer(-1_000_000_000_000_000_000)),
      ("184467440737095516150.0e-1", .unsigned(.max)),
      ("1e19", .unsigned(10_000_000_000_000_000_000)), ("1.0", .number(1)), ("1e2", .number(100)),
      ("0.1", .number(0.1)), ("2.2250738585072011e-308", .number(.leastNormalMagnitude.nextDown)),
      ("5e-324", .number(.leastNonzeroMagnitude)),
      ("1e-400", .number(0)), (#""a\u00e9\ud83d\ude00\n""#, "aé😀\n"), ("[1,[true,null]]", [1, [true, nil]]),
      (#"{"a":1,"a":2,"\u0061":3}"#, ["a": 1]), (#"{"a":{},"b":[]}"#, ["a": [:], "b": []]),
    ] as [(String, JSONValue)])
  func `a JSON value is read exactly`(_ text: String, _ value: JSONValue) throws {
    #expect(try JSONValue(parsing: text.data) == value)
    #expect(try JSONValue(parsing: value.data()) == value)
  }

  @Test func `a number with a fraction is the nearest Double, and is written as that integer`() throws {
    let value = try JSONValue(parsing: "9007199254740993.5".data)
    #expect(value == .number(9_007_199_254_740_994))
    #expect(try JSONValue(parsing: value.data()) == .integer(9_007_199_254_740_994))
  }

  @Test(arguments: [("[1, 1e400]", 4), ("[1, -1e400]", 4), (#"[1, "\ud800x"]"#, 4), (#"{"\udc00": 1}"#, 1)])
  func `a JSON value is refused where it cannot be held`(_ text: String, _ offset: Int) throws {
    let error = try #require(throws: ParserError.self) { try JSONValue(parsing: text.data) }
    #expect(error.reason == .unacceptable)
    #expect(error.position?.offset == offset)
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity])
  func `a JSON value has no text with a number that JSON lacks`(_ number: Double) throws {
    let error = try #require(throws: ParserError.self) { try JSONValue.object(["a": [0, .number(number)]]).data() }
    #expect(error.reason == .unacceptable)
    #expect(error.codingPath == "a[1]")
  }

  @Test func `a JSON value is read and written up to the deepest level and no deeper`() throws {
    let deepest = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    let value = try JSONValue(parsing: deepest.data)
    #expect(try value.data().text == deepest)
    let error = try #require(throws: ParserError.self) { try JSONValue.array([value]).data() }
    #expect(error.reason == .tooDeep)
  }

  @Test func `a JSON value is written with sorted keys and every control character escaped`() throws {
    let value: JSONValue = ["b": 1, "a": "\u{0}\u{1F}\n\"\\/\u{7F}é", "c": 1.0]
    #expect(try value.data().text == "{\"a\":\"\\u0000\\u001f\\n\\\"\\\\/\u{7F}é\",\"b\":1,\"c\":1.0}")
    #expect(try JSONValue(parsing: value.data(sortedKeys: false)) == value)
  }

  @Test func `a JSON value goes through a Codable coder`() throws {
    let value: JSONValue = ["a": [1, 2.5, "x", true, nil], "b": ["c": [:]]]
    let data = try JSONEncoder().encode(value)
    #expect(try JSONDecoder().decode(JSONValue.self, from: data) == value)
  }

  @Test func `a number too large for a Codable coder is reported as bad data, not as another type`() throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(JSONValue.self, from: Data(#"{"a": [1, {"b": 1e999}]}"#.utf8))
    }
    guard case .dataCorrupted = error else { throw try #require(error) }
  }

  @Test func `a JSON value is reached by a path`() {
    let value: JSONValue = ["a": [["b": 7]], "0": "zero"]
    #expect(value["a.0.b"] == 7)
    #expect(value["0"] == "zero")
    #expect(value[""] == value)
    #expect(value["a.1"] == nil)
    #expect(value["a.b"] == nil)
    #expect(value["0.x"] == nil)
  }
}

@Suite struct `Members of a JSON value` {
  let json: JSONValue = [
    "text": "a", "whole": 3, "large": 1e2, "half": 0.5, "yes": true, "none": nil, "list": [1],
    "numbers": ["large": 128],
    "writer": ["name": "Ann"], "writers": [["name": "Ann"], ["name": 3]],
  ]

  @Test func `members of a JSON value are typed`() throws {
    #expect(try json.string("text") == "a")
    #expect(try json.integer("whole") == 3)
    #expect(try json.integer("large", as: UInt8.self) == 100)
    #expect(try json.number("half") == 0.5)
    #expect(try json.number("whole") == 3)
    #expect(try json.bool("yes"))
    #expect(try json.array("list") == [1])
    #expect(try json.value("none") == .null)
    #expect(try json.model("writer", as: MappedWriter.self) == MappedWriter(name: "Ann"))
  }

  @Test(arguments: [
    "9223372036854775808", "9223372036854775809", "10000000000000000001", "18446744073709551615",
    "9007199254740993", "9007199254740993.0", "9007199254740993e0", "10000000000000000001.0", "1e18", "1e19", "1.0",
    "1e2",
    "-9223372036854775808", "-9007199254740993.0", "0.9007199254740993e16",
  ])
  func `integer members are the integers in the text, whatever their size`(
    _ text: String
  ) throws {
    struct Item<ID: Decodable>: Decodable { var id: ID }
    let data = "{\"id\":\(text)}".data
    let json = try JSONValue(parsing: data)
    if text.hasPrefix("-") {
      #expect(try json.integer("id", as: Int64.self) == JSONDecoder().decode(Item<Int64>.self, from: data).id)
      #expect(throws: ParserError.self) { try json.integer("id", as: UInt64.self) }
    } else {
      #expect(try json.integer("id", as: UInt64.self) == JSONDecoder().decode(Item<UInt64>.self, from: data).id)
    }
    #expect(try JSONValue(parsing: json.data()) == json)
  }

  @Test(arguments: [
    "18446744073709551616", "1e20", "9007199254740993.5", "-9223372036854775809", "9007199254740992.1", "1e300",
  ])
  func `members of a JSON value that are not held exactly are no integers, and say where`(_ text: String) throws {
    let json: JSONValue = ["list": .array([try JSONValue(parsing: "{\"id\":\(text)}".data)])]
    struct Item: Mappable {
      static func mapToModel(_ json: JSONValue) throws -> Item {
        _ = try json.integer("id", as: UInt64.self)
        return Item()
      }
    }
    let error = try #require(throws: ParserError.self) { try json.models("list", as: Item.self) }
    #expect(error.reason == .unacceptable)
    #expect(error.codingPath == "list[0].id")
  }

  @Test(arguments: ["none", "absent"])
  func `members of a JSON value that are null or missing are nil where that is allowed`(_ name: String) throws {
    #expect(try json.valueIfPresent(name) == nil)
    #expect(try json.stringIfPresent(name) == nil)
    #expect(try json.integerIfPresent(name) == nil)
    #expect(try json.numberIfPresent(name) == nil)
    #expect(try json.boolIfPresent(name) == nil)
    #expect(try json.arrayIfPresent(name) == nil)
    #expect(try json.modelIfPresent(name, as: MappedWriter.self) == nil)
    #expect(try json.modelsIfPresent(name, as: MappedWriter.self) == nil)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    var error: ParserError
    var access: @Sendable (JSONValue) throws -> Void
    var testDescription: String { error.description }

    init(
      _ reason: ParserError.Reason, _ path: String, _ expected: String,
      _ access: @escaping @Sendable (JSONValue) throws -> Void
    ) {
      error = ParserError(reason, codingPath: path, expected: expected)
      self.access = access
    }
  }

  @Test(arguments: [
    Refusal(.missing, "absent", "expected a member absent") { _ = try $0.string("absent") },
    Refusal(.wrongType, "whole", "expected a string, found a number") { _ = try $0.string("whole") },
    Refusal(.wrongType, "none", "expected a string, found null") { _ = try $0.string("none") },
    Refusal(.wrongType, "whole", "expected a string, found a number") { _ = try $0.stringIfPresent("whole") },
    Refusal(.wrongType, "text", "expected an integer, found a string") { _ = try $0.integer("text") },
    Refusal(.unacceptable, "half", "expected an integer that fits Int, found another number") {
      _ = try $0.integer("half")
    },
    Refusal(.unacceptable, "large", "expected an integer that fits Int8, found another number") {
      _ = try $0.value("numbers").integer("large", as: Int8.self)
    },
    Refusal(.wrongType, "yes", "expected a number, found a Boolean") { _ = try $0.number("yes") },
    Refusal(.wrongType, "list", "expected a Boolean, found an array") { _ = try $0.bool("list") },
    Refusal(.wrongType, "writer", "expected an array, found an object") { _ = try $0.array("writer") },
    Refusal(.wrongType, "writers[1].name", "expected a string, found a number") {
      _ = try $0.models("writers", as: MappedWriter.self)
    },
    Refusal(.wrongType, "", "expected an object, found an array") { _ = try $0.value("list").string("x") },
    Refusal(.wrongType, "", "expected an object, found a string") { _ = try $0.value("text").stringIfPresent("x") },
  ])
  func `members of a JSON value say what was expected and what was found`(_ refusal: Refusal) throws {
    let error = try #require(throws: ParserError.self) { try refusal.access(json) }
    #expect(error == refusal.error)
  }
}
