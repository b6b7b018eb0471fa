import Foundation
import NIOCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

/// Bodies beyond `--largest-body`, here 1,000 bytes.
@Suite(.timeLimit(.minutes(5))) struct `A response that is too large to hold` {
  private static let large = String(repeating: "0123456789", count: 101)

  private static func run(
    _ script: @escaping MockServer.Handler, _ body: (ProxyBench) async throws -> Void
  ) async throws { try await ProxyBench.run(statusName: "proxy", bodyLimit: 1000, script: script, body: body) }

  private static func announced(_ body: String, _ fields: String = "Cache-Control: max-age=9") -> MockServer.Response {
    .raw("HTTP/1.1 200 OK\r\n\(fields)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  private static func chunks(_ body: String) -> String {
    let parts = stride(from: 0, to: body.utf8.count, by: 100).map { Array(body.utf8.dropFirst($0).prefix(100)) }
    return parts.map { "\(String($0.count, radix: 16))\r\n\(String(decoding: $0, as: UTF8.self))\r\n" }.joined()
  }

  static let framings: [(name: String, response: String)] = [
    ("a length", "Content-Length: \(large.utf8.count)\r\n\r\n" + large),
    ("chunks", "Transfer-Encoding: chunked\r\n\r\n" + chunks(large) + "0\r\n\r\n"),
    ("the end of the connection", "\r\n" + large),
  ]

  private static let start = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n\(large)"

  @Test(arguments: framings.indices)
  func `arrives whole, and is not stored, whatever ends it`(_ index: Int) async throws {
    let script: MockServer.Handler = { _ in
      .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nETag: \"1\"\r\n" + Self.framings[index].response)
    }
    try await Self.run(script) { bench in
      for request in ["GET /a", "GET /a", "GET /a\nIf-None-Match: \"1\""] {
        let answer = try await bench.get(request)
        #expect(answer.status == 200 && answer.body == Self.large, "\(Self.framings[index].name)")
        #expect(answer["Cache-Status"] == "proxy; fwd=uri-miss; fwd-status=200; detail=too-large")
      }
      #expect(bench.origin.requests.count == 3)
    }
  }

  @Test func `reaches a client of HTTP/1.0, and a client that continues`() async throws {
    let script: MockServer.Handler = { _ in
      .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + Self.chunks(Self.large) + "0\r\n\r\n")
    }
    try await Self.run(script) { bench in
      let old = try await WireClient.exchange(
        "GET /a HTTP/1.0\r\nHost: proxy\r\nConnection: keep-alive\r\n\r\n", port: bench.server.port)
      #expect(old.hasSuffix("\r\n\r\n" + Self.large) && !old.contains("chunked"))

      let client = try await WireClient.connect(port: bench.server.port)
      for _ in 0..<2 {
        try await client.send("GET /a HTTP/1.1\r\nHost: proxy\r\n\r\n")
        let text = try await client.read { $0.hasSuffix("0\r\n\r\n") }
        #expect(WireMessage(text).body == Self.large)
      }
      try await client.close()
    }
  }

  @Test func `a response that is too large to hold that is as large as the limit is stored`() async throws {
    let body = String(Self.large.prefix(1000))
    try await Self.run({ _ in Self.announced(body) }) { bench async throws in
      for _ in 0..<2 { #expect(try await bench.get().body == body) }
      #expect(bench.origin.requests.count == 1)
    }
  }

  @Test func `reaches the client before its end has left the server`() async throws {
    try await WireOrigin.run { origin, bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send("GET /a HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n")
      let server = try await origin.accept()
      try await server.writeAndFlush(ByteBuffer(string: Self.start))
      let first = try await client.read { $0.hasSuffix(Self.large) }
      #expect(first.contains("Content-Length: 2000\r\n"))
      try await server.writeAndFlush(ByteBuffer(string: String(repeating: "x", count: 990)))
      #expect(try await client.rest() == String(repeating: "x", count: 990))
      try await server.closeFuture.get()
    }
  }

  @Test(arguments: [
    "Content-Length: 2000\r\n\r\n" + large, "Transfer-Encoding: chunked\r\n\r\n" + chunks(large),
    "Transfer-Encoding: chunked\r\n\r\n" + chunks(large) + "nonsense\r\n",
  ])
  func `and is cut off ends the client's connection, without the end of a body`(_ response: String) async throws {
    try await Self.run({ _ in .raw("HTTP/1.1 200 OK\r\n" + response) }) { bench in
      let text = try await WireClient.exchange("GET /a HTTP/1.1\r\nHost: proxy\r\n\r\n", port: bench.server.port)
      #expect(text.contains("HTTP/1.1 200 OK\r\n"))
      #expect(!text.hasSuffix("0\r\n\r\n") && WireMessage(text).body.utf8.count < 2000)
    }
  }

  @Test func `is no longer read from the server once its client has gone`() async throws {
    try await WireOrigin.run { origin, bench async throws in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send("GET /a HTTP/1.1\r\nHost: proxy\r\n\r\n")
      let server = try await origin.accept()
      try await server.writeAndFlush(ByteBuffer(string: Self.start))
      #expect(try await client.read { $0.hasSuffix(Self.large) }.hasSuffix(Self.large))
      try await client.reset()
      try await server.closeFuture.get()
    }
  }

  @Test func `a response that is too large to hold is read no faster than its client takes it`() async throws {
    try await WireOrigin.run { origin, bench in
      let channel = try await WireClient.connect(port: bench.server.port).channel
      let source = try await channel.eventLoop.submit { BodyStream.Source(channel) }.get()
      func isReading() async throws -> Bool { try await channel.getOption(.autoRead).get() }
      for index in 0..<16 {
        #expect(try await isReading(), "part \(index)")
        try await channel.eventLoop.submit { source.yield(ByteBuffer(repeating: 0, count: 10)) }.get()
      }
      #expect(try await !isReading())
      var taken = 0
      try? await source.stream.forEach { part in
        taken += 1
        // 12 have been taken, and the four that are left are the low watermark.
        #expect(try await isReading() == (taken > 12), "\(taken) taken")
        if taken == 16 { throw CancellationError() }
      }
      try await channel.closeFuture.get()
    }
  }

  @Test func `replaces the stored one, and invalidates as any other does`() async throws {
    let script: MockServer.Handler = { request in
      switch (request.method, request.target) {
      case ("POST", _): Self.announced(Self.large)
      case (_, "/a"): Self.announced("small")
      default: Self.announced(request.headers.contains { $0.name == "Grown" } ? Self.large : "small")
      }
    }
    try await Self.run(script) { bench in
      #expect(try await bench.get().body == "small")
      #expect(try await bench.get("POST /a", body: "x").body == Self.large)
      bench.setAge(1)
      #expect(try await bench.get()["Cache-Status"] == "proxy; fwd=stale; fwd-status=200; stored")

      #expect(try await bench.get("GET /b").body == "small")
      let grown = try await bench.get("GET /b\nCache-Control: no-cache\nGrown: 1")
      #expect(grown.body == Self.large)
      #expect(try await bench.get("GET /b")["Cache-Status"] == "proxy; fwd=uri-miss; fwd-status=200; stored")
    }
  }
}
