#if Valkey
  import Foundation
  import NIOCore
  import NIOTestUtils
  import Testing

  @testable import ReactorValkey

  @Suite("Replies of a server")
  struct RESPDecoderTests {
    private static let samples: [(String, ValkeyReply)] = [
      ("+OK\r\n", .string(Data("OK".utf8))),
      ("-WRONGPASS no\r\n", .error("WRONGPASS no")),
      (":-42\r\n", .integer(-42)),
      (",1.5\r\n", .number("1.5")),
      ("(12345678901234567890123\r\n", .number("12345678901234567890123")),
      ("#t\r\n", .boolean(true)),
      ("_\r\n", .null),
      ("$-1\r\n", .null),
      ("*-1\r\n", .null),
      ("$0\r\n\r\n", .string(Data())),
      ("$4\r\n\r\n\r\n\r\n", .string(Data("\r\n\r\n".utf8))),
      ("!7\r\nERR abc\r\n", .error("ERR abc")),
      ("=8\r\ntxt:some\r\n", .string(Data("some".utf8))),
      ("*3\r\n:1\r\n$-1\r\n*1\r\n+x\r\n", .array([.integer(1), .null, .array([.string(Data("x".utf8))])])),
      ("~1\r\n:1\r\n", .array([.integer(1)])),
      ("%1\r\n+k\r\n:1\r\n", .map([.string(Data("k".utf8)), .integer(1)])),
      (">2\r\n+message\r\n:1\r\n", .push([.string(Data("message".utf8)), .integer(1)])),
      ("|1\r\n+ttl\r\n:1\r\n:7\r\n", .integer(7)),
    ]

    @Test(arguments: samples)
    func `each form is read, whole and byte by byte`(bytes: String, expected: ValkeyReply) throws {
      try ByteToMessageDecoderVerifier.verifyDecoder(
        stringInputOutputPairs: [(bytes, [expected]), (bytes + bytes, [expected, expected])]
      ) { RESPDecoder(limit: 1_000) }
    }

    @Test(arguments: [
      "?\r\n", ":x\r\n", "$x\r\n", "$-2\r\n", "$1001\r\n", "*1001\r\n", "$2\r\nabcd", "#x\r\n", "+a\rb\r\n",
      String(repeating: "*1\r\n", count: 9),
    ])
    func `bytes that are no reply are an error`(bytes: String) {
      #expect(throws: RESPError.self) {
        var decoder = RESPDecoder(limit: 1_000)
        var buffer = ByteBuffer(string: bytes)
        while try decoder.decode(buffer: &buffer) != nil {}
      }
    }

    @Test func `an incomplete reply is no reply, up to the limit`() throws {
      var decoder = RESPDecoder(limit: 100)
      var buffer = ByteBuffer(string: "*50\r\n")
      #expect(try decoder.decode(buffer: &buffer) == nil)
      buffer.writeRepeatingByte(UInt8(ascii: "_"), count: 10)
      #expect(try decoder.decode(buffer: &buffer) == nil)
      buffer = ByteBuffer(string: "*50\r\n" + String(repeating: "$1\r\n1\r\n", count: 20))
      #expect(throws: RESPError.self) { try decoder.decode(buffer: &buffer) }
    }

    @Test(arguments: [
      ("redis://cache", ValkeyAddress(host: "cache")),
      (
        "rediss://u:p%40ss@cache:6380/3",
        ValkeyAddress(host: "cache", port: 6380, isEncrypted: true, user: "u", password: "p@ss", database: 3)
      ),
      ("valkey://:secret@[::1]:1", ValkeyAddress(host: "::1", port: 1, password: "secret")),
    ])
    func `an address is read from a URL`(text: String, expected: ValkeyAddress) throws {
      let address = try ValkeyAddress(text)
      #expect(address == expected)
      var dumped = ""
      dump(address, to: &dumped)
      for text in ["\(address)", String(reflecting: address), dumped] {
        #expect(!text.contains("p@ss") && !text.contains("secret"))
      }
    }

    @Test(arguments: [
      "cache:6379", "http://cache", "redis://", "redis://cache/x", "redis://cache/-1", "redis://cache?x",
    ])
    func `an invalid address is an error that shows a valid one`(text: String) {
      #expect { try ValkeyAddress(text) } throws: { "\($0)".contains("address") }
    }
  }
#endif
