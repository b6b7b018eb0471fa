import Foundation
import NIOCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A field beyond ASCII` {
  private static let end = Array("\"\r\nAfter: 日本\r\nConnection: close\r\n\r\n".utf8)

  private static func head(_ value: [UInt8], _ name: String = "If-None-Match") -> [UInt8] {
    Array("GET /a HTTP/1.1\r\nHost: p\r\n\(name): \"".utf8) + value + end
  }

  static let values: [[UInt8]] = [
    Array("ü".utf8), [0xFC], [0x80, 0xFF, 0xC0], Array("\u{FFFD}".utf8), Array("\u{F7E4}".utf8), [0xE2, 0x82],
    [0xF0, 0x9F, 0x98, 0x80], [0xED, 0xA0, 0x80], [0xC3] + Array("x".utf8), [0xEF, 0x9F],
  ]

  @Test(arguments: values.indices) func `reaches the server byte for byte, however it is cut`(index: Int) async throws {
    let value = Self.values[index]
    try await WireOrigin.run { origin, bench async throws in
      for size in [1, 3, 1000] {
        let client = try await WireClient.connect(port: bench.server.port)
        var rest = Self.head(value)[...]
        while !rest.isEmpty {
          try await client.send(bytes: Array(rest.prefix(size)))
          rest = rest.dropFirst(size)
        }
        let connection = try await origin.connection()
        #expect(connection.request.firstRange(of: [UInt8(ascii: "\"")] + value + [UInt8(ascii: "\"")]) != nil)
        #expect(connection.request.firstRange(of: Array("After: 日本\r\n".utf8)) != nil)
        try await connection.channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
        #expect(WireMessage(try await client.rest()).status == 200)
      }
    }
  }

  @Test func `selects no response to a request with other bytes`() async throws {
    let answer = MockServer.Response.raw(
      Data("HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nVary: X\r\nETag: \"".utf8) + [0xFC]
        + Data("\"\r\nContent-Length: 1\r\n\r\n1".utf8))
    try await ProxyBench.run(script: { _ in answer }) { bench async throws in
      for name in ["X", "If-None-Match"] {
        for value in Self.values {
          let before = bench.origin.requests.count
          for count in [1, 1] as [Int] {
            let client = try await WireClient.connect(port: bench.server.port)
            try await client.send(bytes: Self.head(value, name))
            #expect(WireMessage(try await client.rest()).status == 200)
            // Each value of X is a variant, and its second request a hit.
            if name == "X" { #expect(bench.origin.requests.count == before + count) }
          }
        }
      }
    }
  }

  @Test func `a field beyond ASCII changes nothing of a body, nor of the head behind it`() async throws {
    let script: MockServer.Handler = { request in
      let body = request.body
      return .raw(Data("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
    }
    try await ProxyBench.run(script: script) { bench async throws in
      let client = try await WireClient.connect(port: bench.server.port)
      let body: [UInt8] = [0xFC, 0x0A, 0x0A, 0xEF, 0x9F, 0x80, 0xFF]
      let head = Array("POST /a HTTP/1.1\r\nHost: p\r\nX: ".utf8) + [0xE4]
      try await client.send(bytes: head + Array("\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
      _ = try await client.read { $0.hasPrefix("HTTP/1.1 200 ") && $0.contains("\r\n\r\n") }
      #expect(bench.origin.requests.map { Array($0.body) } == [body])
      // In one read with the body before it, a head is not converted, and refused.
      let two = Array("POST /b HTTP/1.1\r\nHost: p\r\nContent-Length: 1\r\n\r\nx".utf8) + Self.head([0xFC])
      try await client.send(bytes: two)
      #expect(try await client.rest().contains("HTTP/1.1 400 "))
    }
  }

  @Test func `a field beyond ASCII is put back as it was, whatever it is`() {
    var random = SeededGenerator(seed: 17)
    let parts: [[UInt8]] = Self.values + [[0xEF], [0x9E], [0x9F], [0x80], [0xBF], [0x61]]
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0...6, using: &random)).flatMap { _ in parts.randomElement(using: &random) ?? [] }
      let converted = FieldBytes.converted(bytes)
      #expect(FieldBytes.restored(converted) == bytes)
      #expect(String(validating: converted, as: UTF8.self)?.unicodeScalars.contains("\u{FFFD}") == false)
    }
  }
}
