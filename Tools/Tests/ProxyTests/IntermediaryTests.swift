import Foundation
import NIOCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

/// The duties of RFC 9110 for an intermediary.
@Suite(.timeLimit(.minutes(5))) struct `A proxy between a client and its server` {
  private static let fresh = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok"

  @Test func `names itself in Via, behind those before it, in requests and in responses, stored or not`() async throws {
    let script: MockServer.Handler = { _ in .raw(Self.fresh.replacing("\r\n\r\nok", with: "\r\nVia: 1.1 cdn\r\n\r\nok"))
    }
    try await ProxyBench.run(script: script) { bench async throws in
      let name = bench.proxy.viaName
      for _ in 0..<2 { #expect(try await bench.get("GET /a\nVia: 1.0 edge")["Via"] == "1.1 cdn, 1.1 \(name)") }
      #expect(bench.origin.requests.map { WireMessage($0)["Via"] } == ["1.0 edge, 1.1 \(name)"])
      _ = try await WireClient.exchange("GET /b HTTP/1.0\r\nHost: p\r\n\r\n", port: bench.server.port)
      #expect(WireMessage(try #require(bench.origin.requests.last))["Via"] == "1.0 \(name)")
    }
  }

  @Test func `a proxy between a client and its server says that the server speaks HTTP 1.0`() async throws {
    try await ProxyBench.run(script: { _ in .raw("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n") }) {
      bench async throws in
      #expect(try await bench.get()["Via"] == "1.0 \(bench.proxy.viaName)")
    }
  }

  @Test(arguments: ["1.1 {}", "1.0 edge, 1.1 {} (a loop)", "HTTP/1.1 a,HTTP/1.1 {}"])
  func `refuses a request that has come through it before`(via: String) async throws {
    try await ProxyBench.run(statusName: "p", script: { _ in .raw(Self.fresh) }) { bench async throws in
      let answer = try await bench.get("GET /a\nVia: \(via.replacing("{}", with: bench.proxy.viaName))")
      #expect(answer.status == 508 && answer["Cache-Status"] == "p; detail=loop")
      #expect(bench.origin.requests.isEmpty)
      #expect(try await bench.get("GET /a\nVia: 1.1 \(bench.proxy.viaName)x").status == 200)
    }
  }

  @Test func `a proxy between a client and its server that is its own server finds the loop`() async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench async throws in
      let port = bench.server.port
      let loop = Proxy(
        cache: bench.proxy.cache, upstream: try Upstream(UpstreamArgument.parse("http://127.0.0.1:\(port)")))
      let server = try await ProxyServer.start(loop, on: ListenArgument(host: "127.0.0.1", port: 0))
      let answer = try await WireClient.exchange(
        "GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\nVia: 1.1 \(bench.proxy.viaName)\r\nConnection: close\r\n\r\n",
        port: server.port)
      #expect(WireMessage(answer).status == 508)
      await server.stop(grace: .zero)
    }
  }

  @Test(arguments: [
    ("OPTIONS", "5", "4"), ("TRACE", "1", "0"), ("OPTIONS", "x", "x"), ("GET", "0", "0"),
    ("TRACE", "99999999999999999999", "18446744073709551614"),
  ])
  func `sends Max-Forwards on less one, for the methods that have it`(method: String, value: String, sent: String)
    async throws
  {
    try await ProxyBench.run(script: { _ in .raw(Self.fresh) }) { bench async throws in
      _ = try await bench.get("\(method) /a\nMax-Forwards: \(value)\nCookie: a=b")
      let request = WireMessage(try #require(bench.origin.requests.first))
      #expect(request["Max-Forwards"] == sent)
      // The server writes a TRACE into its answer.
      #expect(request["Cookie"] == (method == "TRACE" ? nil : "a=b"))
    }
  }

  @Test func `answers OPTIONS and TRACE itself where they go no further`() async throws {
    try await ProxyBench.run(script: { _ in .close }) { bench async throws in
      let options = try await bench.get("OPTIONS /a\nMax-Forwards: 0")
      #expect(options.status == 200 && options["Allow"]?.contains("OPTIONS") == true)
      let trace = try await bench.get("TRACE /a?b\nMax-Forwards: 0\nX: y\nCookie: secret\nAuthorization: secret")
      #expect(trace.status == 200 && trace["Content-Type"] == "message/http")
      #expect(trace.body.hasPrefix("TRACE /a?b HTTP/1.1\r\nMax-Forwards: 0\r\nX: y\r\n"))
      #expect(!trace.body.contains("secret"))
      #expect(bench.origin.requests.isEmpty)
    }
  }

  @Test func `adds the time of arrival to a response without Date, forwarded, stored, or its own`() async throws {
    try await ProxyBench.run(script: { _ in .raw(Self.fresh) }) { bench async throws in
      for age in [0, 5] {
        bench.setAge(Double(age))
        #expect(try await bench.get()["Date"] == "Sat, 21 Nov 2026 12:00:00 GMT")
      }
      #expect(try await bench.get("POST /a")["Date"] == "Sat, 21 Nov 2026 12:00:05 GMT")
      #expect(try await bench.get("GET /..")["Date"] != nil)
    }
    let own = Self.fresh.replacing("\r\n\r\nok", with: "\r\nDate: yesterday\r\n\r\nok")
    try await ProxyBench.run(script: { _ in .raw(own) }) { bench async throws in
      #expect(try await bench.get()["Date"] == "yesterday")
    }
  }

  @Test(arguments: [
    (-62_135_596_800.0, "Mon, 01 Jan 0001 00:00:00 GMT"), (784_111_777.9, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (-0.5, "Wed, 31 Dec 1969 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
  ])
  func `a proxy between a client and its server writes a time as a field has it`(seconds: Double, text: String) {
    #expect(ServerDate.text(Date(timeIntervalSince1970: seconds)) == text)
  }

  @Test(arguments: ["text/event-stream", "Text/Event-Stream; charset=utf-8"])
  func `passes events on as they come, and stores none`(type: String) async throws {
    let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Type: \(type)\r\n\r\n"
    try await WireOrigin.run { origin, bench async throws in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send("GET /a HTTP/1.1\r\nHost: p\r\nConnection: close\r\n\r\n")
      let server = try await origin.accept()
      try await server.writeAndFlush(ByteBuffer(string: head))
      let first = try await client.read { $0.contains("\r\n\r\n") }
      #expect(first.contains("Cache-Status: proxy; fwd=uri-miss; fwd-status=200; detail=event-stream\r\n"))
      for number in 1...3 {
        try await server.writeAndFlush(ByteBuffer(string: "data: \(number)\n\n"))
        #expect(try await client.read { $0.contains("data: \(number)\n\n") }.contains("data: \(number)"))
      }
      try await server.close()
      #expect(try await client.rest().hasSuffix("0\r\n\r\n"))
    }
  }
}
