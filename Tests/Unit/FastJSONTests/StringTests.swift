import FastJSON
import Foundation
import ReactorTesting
import Testing

private let shortEscapes: [(String, String)] = [
  ("\"", "\""), ("\\", "\\"), ("/", "/"), ("b", "\u{8}"), ("f", "\u{C}"), ("n", "\n"), ("r", "\r"), ("t", "\t"),
]

private let unicodeEscapes: [(String, String)] = [
  (#"\u0041"#, "A"), (#"\u00e9"#, "\u{E9}"), (#"\u00E9"#, "\u{E9}"), (#"\u0000"#, "\0"), (#"\u001f"#, "\u{1F}"),
  (#"\u007f"#, "\u{7F}"), (#"\u0080"#, "\u{80}"), (#"\u07ff"#, "\u{7FF}"), (#"\u0800"#, "\u{800}"),
  (#"\ud7ff"#, "\u{D7FF}"), (#"\ue000"#, "\u{E000}"), (#"\ufdd0"#, scalar(0xFDD0)), (#"\uFFFE"#, scalar(0xFFFE)),
  (#"\uffff"#, scalar(0xFFFF)), (#"\u2028"#, "\u{2028}"), (#"\ufeff"#, "\u{FEFF}"), (#"\ud800\udc00"#, "\u{10000}"),
  (#"\uD83D\uDE00"#, "\u{1F600}"), (#"\ud83d\ude00"#, "\u{1F600}"), (#"\uDBFF\uDFFF"#, scalar(0x10FFFF)),
  (#"\uaBcD"#, "\u{ABCD}"), (#"e\u0301"#, "e\u{301}"),
]

private let badEscapes = [
  #"\ud800"#, #"\udbff"#, #"\udc00"#, #"\udfff"#, #"\ud800x"#, #"\ud800\n"#, #"\ud800\u0041"#, #"\ud800\ud800"#,
  #"\ud800\ue000"#, #"\udc00\ud800"#, #"\ud83d\\ude00"#, #"\a"#, #"\x41"#, #"\'"#, #"\0"#, #"\U0041"#, #"\ "#,
  #"\u"#,
  #"\u1"#, #"\u12"#, #"\u123"#, #"\u123g"#, #"\u 123"#, #"\u+123"#, #"\u-123"#,
  #"\ud83d\u"#, #"\ud83d\ude0"#, #"\u００４１"#,
]

private let invalidUTF8: [[UInt8]] = [
  [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
  [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xEF, 0xBF], [0xF0, 0x80, 0x80, 0x80],
  [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x9F, 0x28, 0x80], [0xF4, 0x90, 0x80, 0x80],
  [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
]

private let quote = UInt8(ascii: "\"")

/// The bytes tell more than `==`, which is canonical.
private func utf8(_ text: String) throws -> [UInt8] {
  Array(try decode(String.self, text).utf8)
}

@Suite struct `Strings` {
  @Test(arguments: shortEscapes) func `each short escape is its character`(letter: String, character: String) throws {
    #expect(try utf8("\"\\\(letter)\"") == Array(character.utf8))
    #expect(try utf8("\"a\\\(letter)b\"") == Array("a\(character)b".utf8))
  }

  @Test(arguments: unicodeEscapes) func `a unicode escape is its scalar`(escape: String, scalar: String) throws {
    #expect(try utf8("\"\(escape)\"") == Array(scalar.utf8))
    #expect(try utf8("\"\(escape)\(escape)tail\"") == Array("\(scalar)\(scalar)tail".utf8))
  }

  @Test(arguments: badEscapes) func `a bad escape is refused, read or not`(escape: String) {
    #expect(isRefused(String.self, "\"\(escape)\""))
    #expect(isRefused(String.self, "\"ab\(escape)xy\""))
    #expect(isRefused(Nothing.self, "{\"a\":\"\(escape)\"}"))
    #expect(isRefused(Nothing.self, "{\"\(escape)\":1}"))
  }

  @Test(arguments: UInt8(0)..<0x20) func `a raw control character is refused`(byte: UInt8) {
    for length in 0...9 {
      let filler = [UInt8](repeating: 0x61, count: length)
      #expect(isRefused(String.self, bytes: [quote] + filler + [byte] + filler + [quote]))
    }
    #expect(isRefused(Nothing.self, bytes: Array("{\"a\":\"".utf8) + [byte] + Array("\"}".utf8)))
  }

  @Test func `a delete character is accepted`() throws {
    #expect(try utf8("\"a\u{7F}b\"") == Array("a\u{7F}b".utf8))
  }

  @Test(arguments: [
    scalar(0xFDD0), scalar(0xFFFE), scalar(0xFFFF), scalar(0x1FFFE), scalar(0x10FFFF), "\u{2028}", "\u{2029}", "\u{80}",
  ])
  func `a raw character that is unusual is kept`(character: String) throws {
    #expect(try utf8("\"x\(character)y\"") == Array("x\(character)y".utf8))
  }

  @Test(arguments: invalidUTF8) func `bytes that are not UTF-8 are refused, read or not`(bytes: [UInt8]) {
    for length in 0...9 {
      let filler = [UInt8](repeating: 0x61, count: length)
      #expect(isRefused(String.self, bytes: [quote] + filler + bytes + filler + [quote]))
      #expect(isRefused(String.self, bytes: [quote] + filler + bytes))
    }
    #expect(isRefused(Nothing.self, bytes: Array("[\"".utf8) + bytes + Array("\"]".utf8)))
    #expect(isRefused(Nothing.self, bytes: Array("{\"".utf8) + bytes + Array("\":1}".utf8)))
  }

  @Test(arguments: 0...17) func `a string of each length is read whole`(length: Int) throws {
    let content = String("abcdefghijklmnopqrst".prefix(length))
    #expect(try decode(String.self, "\"\(content)\"") == content)
    #expect(try decode([String].self, "[\"\(content)\",\"\(content)\"]") == [content, content])
    #expect(try decode([String: String].self, "{\"\(content)\":\"\(content)\"}") == [content: content])
  }

  @Test(arguments: 0...17) func `an escape or a long character is found at each offset`(offset: Int) throws {
    let filler = String(repeating: "x", count: offset)
    let pieces = [
      (#"\""#, "\""), (#"\\"#, "\\"), (#"\u00e9"#, "é"), ("é", "é"), ("漢", "漢"), ("😀", "😀"), (#"\ud83d\ude00"#, "😀"),
    ]
    for (piece, character) in pieces {
      for tail in 0...17 {
        let end = String(repeating: "y", count: tail)
        #expect(try decode(String.self, "\"\(filler)\(piece)\(end)\"") == filler + character + end)
      }
    }
  }

  @Test(arguments: 0...17) func `a string without its end is refused`(length: Int) {
    let filler = String(repeating: "x", count: length)
    for end in ["", "\\", "\\u", "\\u0", "\\u00", "\\u004", "\\ud83d", "\\ud83d\\", "\\ud83d\\u", "\\\"", "é", "\0"] {
      #expect(isRefused(String.self, "\"\(filler)\(end)"))
      #expect(isRefused([String].self, "[\"a\",\"\(filler)\(end)"))
      #expect(isRefused(Nothing.self, "{\"\(filler)\(end)"))
    }
  }

  @Test func `a backslash before the last quote is no end`() {
    #expect(isRefused(String.self, #""a\""#))
    #expect(isRefused(String.self, #""a\\\""#))
  }

  @Test func `escapes do not disturb the values beside them`() throws {
    let text = #"["\u0041\u0042",12,"\n\n\n\n\n\n\n\n\n",-3.5,"plain","\ud83d\ude00😀\ud83d\ude00",true]"#
    let expected: [AnyJSON] = [
      .string("AB"), .number(12), .string("\n\n\n\n\n\n\n\n\n"), .number(-3.5), .string("plain"), .string("😀😀😀"),
      .bool(true),
    ]
    #expect(try decode([AnyJSON].self, text) == expected)
  }

  @Test func `a string is the same when it is read twice`() throws {
    struct Twice: Decodable {
      let first: String
      let second: String

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: AnyKey.self)
        first = try container.decode(String.self, forKey: AnyKey("a"))
        second = try container.decode(String.self, forKey: AnyKey("a"))
      }
    }
    let twice = try decode(Twice.self, #"{"a":"x\ty\u00e9\\z"}"#)
    #expect(twice.first == "x\tyé\\z")
    #expect(twice.second == twice.first)
  }

  @Test(arguments: [1 << 10, 1 << 16, 1 << 20]) func `a long string with escapes is read whole`(count: Int) throws {
    let piece = "0123456789é😀\n\"\\"
    let content = String(repeating: piece, count: count / piece.utf8.count)
    let escaped = String(repeating: #"0123456789é\ud83d\ude00\n\"\\"#, count: count / piece.utf8.count)
    #expect(try decode(String.self, "\"\(escaped)\"") == content)
  }

  @Test func `a string of 64 MiB is read whole`() throws {
    let bytes = [quote] + [UInt8](repeating: 0x61, count: 1 << 26) + [quote]
    let strings = try decode([String].self, bytes: [UInt8(ascii: "[")] + bytes + Array(",\"b\"]".utf8))
    #expect(strings.map { $0.utf8.count } == [1 << 26, 1])
    #expect(strings.last == "b")
  }

  @Test func `random strings come back from an encoder's text`() throws {
    var random = SeededGenerator(seed: 0x5EED_0001)
    let alphabet: [Character] = ["a", "\"", "\\", "/", "\n", "\u{1}", "é", "漢", "😀", " ", "\u{7F}", "z", "0"]
    let decoder = FastJSONDecoder()
    for _ in 0..<500 {
      let strings = (0..<4).map { _ in
        String((0..<Int.random(in: 0...40, using: &random)).map { _ in alphabet.randomElement(using: &random) ?? "a" })
      }
      let data = try JSONEncoder().encode(strings)
      #expect(try decoder.decode([String].self, from: data) == strings)
    }
  }
}
