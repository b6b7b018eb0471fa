import FastJSON
import Foundation
import Testing

private let unreadFaults = [
  "01", "1.", "-", "1e", ".5", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"a\nb\"", "[1,]",
  "{\"b\":1,}", "tru", "{\"b\":01}", "[\"\\ud800\"]",
]

private let wholeNumbersOnly = [
  "1.0000000000000001", "1e-400", "9007199254740993.5", "-9007199254740993.5",
]

/// Intended differences, which the other tests of agreement leave out.
@Suite struct `Differences from Foundation` {
  @Test(arguments: unreadFaults) func `an invalid text is refused even where no model reads it`(fault: String) throws {
    #expect(try failure(Nothing.self, "{\"a\":\(fault)}").kind == .dataCorrupted)
    #expect(try failure(Nothing.self, "[\(fault)]").kind == .dataCorrupted)
    #expect(try failure([Nothing].self, "[{\"a\":\(fault)}]").path == [])
  }

  @Test(arguments: ["[1,]", "{\"a\":1,}", "[[],]"]) func `a trailing comma is refused`(text: String) {
    #expect(isRefused(AnyJSON.self, text))
  }

  @Test(arguments: wholeNumbersOnly) func `a number with a fraction is no Int, however small`(text: String) throws {
    #expect(try failure(Int.self, text) == Failure(.dataCorrupted, [], at: 0))
    #expect(try failure([Int].self, "[\(text)]") == Failure(.dataCorrupted, ["Index 0"], at: 1))
  }

  @Test func `the first of equal names wins`() throws {
    #expect(try decode([String: Int].self, #"{"a":1,"a":2}"#) == ["a": 1])
    #expect(try decode([String: Int].self, "{\"\u{E9}\":1,\"e\u{301}\":2}") == ["\u{E9}": 1])
  }

  @Test func `a later one of equal names may be wrong`() throws {
    #expect(try decode([String: Int].self, #"{"a":1,"a":"x"}"#) == ["a": 1])
  }

  @Test func `large integers are exact`() throws {
    let text = "170141183460469231731687303715884105727"
    #expect(try decode(Int128.self, text) == .max)
    #expect(try decode(UInt128.self, "340282366920938463463374607431768211455") == .max)
    #expect(try decode(Int.self, "-9223372036854775808.0") == .min)
    #expect(try decode(Int128.self, "\(text).0") == .max)
  }

  @Test(arguments: ["-9223372036854775808.0", "9007199254740993.0", "9223372036854775807e0"])
  func `an integer with a fraction of zeros is exact`(text: String) throws {
    let whole = try #require(text.split(whereSeparator: { ".e".contains($0) }).first)
    #expect(try decode(Int.self, text) == Int(whole))
    #expect(try decode(Int128.self, "1e20") == 100_000_000_000_000_000_000)
  }

  /// Foundation does too where there is no strategy of keys.
  @Test func `a later member of a dictionary is not decoded`() throws {
    let snake = configured { $0.keyDecodingStrategy = .convertFromSnakeCase }
    #expect(try decode([String: Int].self, #"{"a":1,"a":"x"}"#, with: snake) == ["a": 1])
  }

  @Test func `the first of several errors in a dictionary counts`() throws {
    let text = "{" + (0..<20).map { "\"\($0)\":null" }.joined(separator: ",") + "}"
    #expect(try failure([String: Int].self, text).path == ["0"])
  }

  @Test func `an escaped string is a number that is not finite`() throws {
    let decoder = configured {
      $0.nonConformingFloatDecodingStrategy = .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "n")
    }
    #expect(try decode(Double.self, #""\u002b""#, with: decoder) == .infinity)
  }

  @Test func `an error of a date names the date`() throws {
    let decoder = configured { $0.dateDecodingStrategy = .iso8601 }
    #expect(try failure([String: [Date]].self, #"{"a":["x"]}"#, with: decoder).path == ["a", "Index 0"])
  }

  @Test func `an optional past the end is not counted`() throws {
    struct Model: Decodable {
      let index: Int
      init(from decoder: any Decoder) throws {
        var list = try decoder.unkeyedContainer()
        _ = try list.decodeIfPresent(Int.self)
        index = list.currentIndex
      }
    }
    #expect(try decode(Model.self, "[]").index == 0)
  }

  @Test func `errors have a path and a byte where Foundation has none`() throws {
    #expect(try failure([String: [Int8]].self, #"{"a":[1,300]}"#) == Failure(.dataCorrupted, ["a", "Index 1"], at: 8))
  }

  @Test func `UTF-32 with a mark is read in either order of bytes`() throws {
    #expect(try decode([Int].self, bytes: [0xFF, 0xFE, 0, 0, 0x5B, 0, 0, 0, 0x5D, 0, 0, 0]) == [])
    #expect(try decode([Int].self, bytes: [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x5B, 0, 0, 0, 0x5D]) == [])
  }

  @Test func `an absent superDecoder has the path of its key`() throws {
    struct Model: Decodable {
      let paths: [[String]]
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        paths = [try container.superDecoder(), try container.superDecoder(forKey: AnyKey("x"))]
          .map { $0.codingPath.map(\.stringValue) }
      }
    }
    #expect(try decode(Model.self, "{}").paths == [["super"], ["x"]])
    #expect(try decode([String: Model].self, #"{"a":{"x":1}}"#)["a"]?.paths == [["a", "super"], ["a", "x"]])
  }
}
