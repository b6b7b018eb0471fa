import FastJSON
import Foundation
import Testing

private let notJSON = [
  "", " ", "\n\t\r ", "{", "[", "]", "}", ",", ":", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1:2]",
  "[1;2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\" 1}", "{\"a\",1}", "{\"a\":1 \"b\":2}",
  "{\"a\":1,,\"b\":2}", "{1:2}", "{a:1}", "{'a':1}", "{null:1}", "{\"a\"::1}", "{\"a\":1:2}", "{\"a\":1",
  "{\"a\":1,", "{\"a\":", "{\"a\"", "[1}", "{\"a\":1]", "[{]", "{[}", "[[]", "[]]", "{}}", "{\"a\":[}", "1 2", "1,",
  "[] []", "{} 1", "\"a\" \"b\"", "nul", "nulll", "nullnull", "Null", "True", "tru", "truefalse", "fals", "falsee",
  "t", "f", "n", "[tru]", "[nul", "/*c*/1", "1//c", "[1/*c*/]", "#", "'a'", "[1]\u{C}", "\u{C}1", "\u{B}1",
  "\u{A0}1", "1\u{A0}", "\u{2028}1", "[1]\0", "[\0]", "undefined", "a", "\\u0031", "[1]x", "{\"a\":1}x",
  "\u{FEFF}\u{FEFF}1", "[\u{FEFF}1]", "-", "[-]", "\"", "[\"]",
]

private let scalars: [(String, AnyJSON)] = [
  ("null", .null), ("true", .bool(true)), ("false", .bool(false)), ("0", .number(0)), ("-1.5e3", .number(-1_500)),
  ("\"\"", .string("")), ("\"a\"", .string("a")), ("[]", .array([])), ("{}", .object([:])), (" [ ] ", .array([])),
  ("\n{\t}\r", .object([:])), ("\t null\n", .null), ("[[],{}]", .array([.array([]), .object([:])])),
  ("{\"a\":{},\"b\":[]}", .object(["a": .object([:]), "b": .array([])])),
  ("[[[]],[{}],{\"\":[]}]", .array([.array([.array([])]), .array([.object([:])]), .object(["": .array([])])])),
]

private let sample = #"{"a":[1,-2.5e3,true,false,null,"x\n\u00e9😀"],"b":{"c":{},"d":[[]]}, "e" : "" }"#

private func nested(_ depth: Int, _ open: String, _ middle: String, _ close: String) -> String {
  String(repeating: open, count: depth) + middle + String(repeating: close, count: depth)
}

private func littleEndian<Unit: FixedWidthInteger>(_ units: some Sequence<Unit>) -> [UInt8] {
  units.flatMap { unit in (0..<Unit.bitWidth / 8).map { UInt8(truncatingIfNeeded: unit >> Unit($0 * 8)) } }
}

private func bigEndian<Unit: FixedWidthInteger>(_ units: some Sequence<Unit>) -> [UInt8] {
  units.flatMap { unit in (0..<Unit.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: unit >> Unit($0 * 8)) } }
}

@Suite struct `The structure of a text` {
  @Test(arguments: notJSON) func `a text that is not JSON is refused`(text: String) throws {
    #expect(isRefused(AnyJSON.self, text))
    #expect(isRefused(Nothing.self, text))
    #expect(try failure(Int?.self, text).kind == .dataCorrupted)
  }

  @Test(arguments: scalars) func `a text may be any value`(text: String, expected: AnyJSON) throws {
    #expect(try decode(AnyJSON.self, text) == expected)
    #expect(try decode([AnyJSON].self, "[\(text),1]") == [expected, .number(1)])
  }

  @Test func `null is an Optional that is empty`() throws {
    #expect(try decode(Int?.self, "null") == nil)
    #expect(try decode([Int]?.self, " null ") == nil)
    #expect(try decode(Int?.self, "1") == 1)
    #expect(try failure(Int.self, "null") == Failure(.valueNotFound, [], at: 0))
  }

  @Test func `each prefix of a text is refused`() throws {
    let bytes = Array(sample.utf8)
    #expect(!isRefused(AnyJSON.self, bytes: bytes))
    let end = try #require(bytes.lastIndex(of: UInt8(ascii: "}")))
    for count in 0...end {
      #expect(isRefused(AnyJSON.self, bytes: Array(bytes.prefix(count))), "\(count)")
    }
  }

  @Test func `a text with one byte changed is refused, or is what Foundation reads`() throws {
    let bytes = Array(sample.utf8)
    let (foundation, decoder) = (JSONDecoder(), FastJSONDecoder())
    for index in bytes.indices {
      for byte in UInt8.min...UInt8.max {
        var changed = bytes
        changed[index] = byte
        let data = Data(changed)
        guard let value = try? decoder.decode(AnyJSON.self, from: data) else { continue }
        let expected = try? foundation.decode(AnyJSON.self, from: data)
        if value != expected { Issue.record("byte \(index) as \(byte)") }
      }
    }
  }

  @Test func `a text with one byte less is refused, or is what Foundation reads`() throws {
    let bytes = Array(sample.utf8)
    for index in bytes.indices {
      var changed = bytes
      changed.remove(at: index)
      guard let value = try? decode(AnyJSON.self, bytes: changed) else { continue }
      #expect(try JSONDecoder().decode(AnyJSON.self, from: Data(changed)) == value)
    }
  }

  @Test(arguments: [1, 2, 64, 65, 511, 512]) func `512 levels are read`(depth: Int) throws {
    let refused = try onLargeStack {
      [
        isRefused(AnyJSON.self, nested(depth, "[", "", "]")),
        isRefused(AnyJSON.self, nested(depth, "{\"a\":", "1", "}")),
        isRefused(Nothing.self, nested(depth, " [ ", "", " ] ")),
      ]
    }
    #expect(refused == [false, false, false])
  }

  @Test(arguments: [513, 514, 1_024, 10_000, 1_000_000]) func `more levels of nesting than the limit are refused`(
    depth: Int
  ) throws {
    let error = try failure(AnyJSON.self, nested(depth, "[", "", "]"))
    #expect(error == Failure(.dataCorrupted, [], at: 512))
    #expect(try failure(Nothing.self, nested(depth, "{\"a\":", "1", "}")) == Failure(.dataCorrupted, [], at: 512 * 5))
    #expect(isRefused(Nothing.self, String(repeating: "[", count: depth)))
  }

  @Test func `siblings do not count as levels`() throws {
    let text = "[" + String(repeating: "[[]],", count: 2_000) + "[]]"
    #expect(try decode([[[Int]]].self, text).count == 2_001)
  }

  @Test(arguments: ["[1,\"é😀\"]", "{\"a\":1}", "\"a\"", "12"]) func `a text may be in any encoding of Unicode`(
    text: String
  ) throws {
    let expected = try decode(AnyJSON.self, text)
    let (utf16, utf32) = (Array(text.utf16), text.unicodeScalars.map(\.value))
    #expect(try decode(AnyJSON.self, bytes: [0xEF, 0xBB, 0xBF] + text.utf8) == expected)
    #expect(try decode(AnyJSON.self, bytes: littleEndian(utf16)) == expected)
    #expect(try decode(AnyJSON.self, bytes: bigEndian(utf16)) == expected)
    #expect(try decode(AnyJSON.self, bytes: [0xFF, 0xFE] + littleEndian(utf16)) == expected)
    #expect(try decode(AnyJSON.self, bytes: [0xFE, 0xFF] + bigEndian(utf16)) == expected)
    #expect(try decode(AnyJSON.self, bytes: littleEndian(utf32)) == expected)
    #expect(try decode(AnyJSON.self, bytes: bigEndian(utf32)) == expected)
    #expect(try decode(AnyJSON.self, bytes: [0xFF, 0xFE, 0, 0] + littleEndian(utf32)) == expected)
    #expect(try decode(AnyJSON.self, bytes: [0, 0, 0xFE, 0xFF] + bigEndian(utf32)) == expected)
  }

  @Test func `a mark without a text, and half a mark, are refused`() {
    let marks: [[UInt8]] = [
      [0xEF, 0xBB, 0xBF], [0xEF, 0xBB], [0xEF], [0xFF, 0xFE], [0xFE, 0xFF], [0xFF, 0xFE, 0, 0], [0, 0, 0xFE, 0xFF], [0],
      [0, 0], [0, 0, 0], [0, 0, 0, 0], [0x31, 0, 0], [0, 0x31, 0], [0xFF, 0xFE, 0x31], [0xEF, 0xBB, 0x31],
    ]
    for mark in marks { #expect(isRefused(AnyJSON.self, bytes: mark), "\(mark)") }
  }

  @Test func `a slice of a Data and an NSData are read`() throws {
    let decoder = FastJSONDecoder()
    let slice = Data("xx[1,2]yy".utf8)[2..<7]
    #expect(try decoder.decode([Int].self, from: slice) == [1, 2])
    #expect(try decoder.decode([Int].self, from: slice.dropFirst(0)) == [1, 2])
    #expect(try decoder.decode([Int].self, from: Data(referencing: NSData(data: slice))) == [1, 2])
    #expect(isRefused(AnyJSON.self, bytes: []))
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: Data()) }
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: Data("[1]".utf8)[1..<1]) }
  }

  @Test func `bytes in other storage are read`() throws {
    let decoder = FastJSONDecoder()
    let bytes = Array("  [1,\"a\"]".utf8)
    let expected: [AnyJSON] = [.number(1), .string("a")]
    #expect(try decoder.decode([AnyJSON].self, from: bytes) == expected)
    #expect(try decoder.decode([AnyJSON].self, from: bytes[2...]) == expected)
    #expect(try decoder.decode([AnyJSON].self, from: ContiguousArray(bytes)) == expected)
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: [UInt8]()) }
  }

  @Test(
    arguments: [
      "1", "-1.5e10", "true", "null", "\"abc\"", "[1,2]", "{\"a\":1}", "\"é😀\"", "[1,2", "tru", "\"ab", "\"\\u00",
    ]
  )
  func `nothing is read behind the end of the bytes`(text: String) throws {
    let size = Int(sysconf(Int32(_SC_PAGESIZE)))
    #if canImport(Darwin)
      let flags = MAP_ANON | MAP_PRIVATE
    #else
      let flags = MAP_ANONYMOUS | MAP_PRIVATE
    #endif
    let mapped = mmap(nil, 2 * size, PROT_READ | PROT_WRITE, flags, -1, 0)
    let pages = try #require(mapped)
    try #require(pages != UnsafeMutableRawPointer(bitPattern: -1))
    defer { munmap(pages, 2 * size) }
    try #require(mprotect(pages + size, size, PROT_NONE) == 0)
    let bytes = Array(text.utf8)
    let buffer = UnsafeMutableRawBufferPointer(start: pages + (size - bytes.count), count: bytes.count)
    buffer.copyBytes(from: bytes)
    let found = try? FastJSONDecoder().decode(AnyJSON.self, from: UnsafeRawBufferPointer(buffer))
    #expect(found == (try? decode(AnyJSON.self, text)))
  }

  @Test func `white space may stand between any two tokens`() throws {
    let tokens = ["{", "\"a\"", ":", "[", "1", ",", "true", ",", "null", "]", ",", "\"b\"", ":", "{", "}", "}"]
    let expected = try decode(AnyJSON.self, tokens.joined())
    for space in [" ", "\n", "\r", "\t", "\r\n", " \n\t\r ", String(repeating: " ", count: 40)] {
      #expect(try decode(AnyJSON.self, space + tokens.joined(separator: space) + space) == expected)
    }
  }

  @Test(arguments: [1, 31, 32, 33, 100, 1_000, 100_000]) func `a text of each size is read whole`(count: Int) throws {
    let numbers = Array(0..<count)
    let text = "[" + numbers.map { "\($0)" }.joined(separator: ",") + "]"
    #expect(try decode([Int].self, text) == numbers)
    #expect(try decode([AnyJSON].self, text) == numbers.map { .number(Double($0)) })
  }

  @Test func `one decoder reads large and small texts in turn`() throws {
    let decoder = FastJSONDecoder()
    let large = "[" + Array(repeating: "\"0123456789\"", count: 500_000).joined(separator: ",") + "]"
    for _ in 0..<2 {
      #expect(try decode([String].self, large, with: decoder).count == 500_000)
      #expect(try decode([String].self, "[\"a\"]", with: decoder) == ["a"])
      #expect(isRefused([String].self, "[\"a\"", with: decoder))
      #expect(try decode([String: [Int]].self, "{\"a\":[1]}", with: decoder) == ["a": [1]])
    }
  }

  @Test func `a failure leaves nothing behind for the next text`() throws {
    let decoder = FastJSONDecoder()
    for text in notJSON {
      #expect(isRefused(AnyJSON.self, text, with: decoder))
      #expect(try decode(AnyJSON.self, "[{\"a\":1}]", with: decoder) == .array([.object(["a": .number(1)])]))
    }
  }
}
