import Foundation
import ReactorCore
import Testing

@testable import reactor

@Suite struct `Compact JSON` {
  @Test(arguments: [
    ("[ 1 ,\t2\r\n]\n", "[1,2]"),
    ("{ \"a b\" : \"c\td\" }", "{\"a b\":\"c\td\"}"),
    (#"{"a": " \" , \\" , "b": "\\\\\" "}"#, #"{"a":" \" , \\","b":"\\\\\" "}"#),
    (#"[ "\n \u0020 \u2028", "" ]"#, #"["\n \u0020 \u2028",""]"#),
    ("[ 123456789012345678901234567890 , 1.10 , -0.0, 1E+400 ]", "[123456789012345678901234567890,1.10,-0.0,1E+400]"),
    (#"{ "id": 1, "id": 2 }"#, #"{"id":1,"id":2}"#),
    ("[ { } , [ ] ]", "[{},[]]"),
    (" \n true ", "true"),
    ("\u{FEFF} null", "null"),
    ("[ \"\u{FEFF} Grüße 👋\" ]", "[\"\u{FEFF} Grüße 👋\"]"),
    ("", ""),
  ])
  func `leaves out white space outside of strings, and nothing else`(json: String, line: String) {
    #expect(String(decoding: CompactJSON.bytes(Data(json.utf8)), as: UTF8.self) == line)
  }

  @Test func `is as deep as what was received`() {
    let depth = JSONValue.maximumDepth
    let json = String(repeating: "[ ", count: depth) + String(repeating: "]\n", count: depth)
    let line = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(CompactJSON.bytes(Data(json.utf8)) == Data(line.utf8))
  }

  @Test func `takes a slice, which begins at another index`() {
    let whole = Data(#"{"a": [ 1, 2 ]}"#.utf8)
    #expect(CompactJSON.bytes(whole[6...13]) == Data("[1,2]".utf8))
  }
}
