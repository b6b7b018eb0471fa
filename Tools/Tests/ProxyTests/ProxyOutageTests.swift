import Foundation
import HTTPCachingProxy
import HTTPTypes
import NIOCore
import ReactorCore
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A proxy whose server fails` {
  private final class Stopwatch: Sendable {
    let seconds = Mutex(0.0)
    func set(_ value: Double) { seconds.withLock { $0 = value } }
    var outages: UpstreamOutages { UpstreamOutages(elapsed: { [self] in .seconds(seconds.withLock { $0 }) }) }
  }

  private final class Origin: Sendable {
    let fails = Mutex(false)
    func answer(_ request: MockServer.Request) -> MockServer.Response {
      fails.withLock { $0 }
        ? .raw("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
        : .raw(
          "HTTP/1.1 200 OK\r\nCache-Control: max-age=1, stale-if-error=3600\r\nContent-Length: 1\r\n\r\n1")
    }
  }

  private let stopwatch = Stopwatch()
  private let server = Origin()
  private let trace = AsyncStream.makeStream(of: String.self)

  private func run(_ outages: UpstreamOutages?, _ body: (ProxyBench) async throws -> Void) async throws {
    let server = server
    try await ProxyBench.run(
      trace: { [trace] in trace.continuation.yield($0) }, statusName: "p", outages: outages,
      script: { server.answer($0) }, body: body)
    trace.continuation.finish()
  }

  private func waitForLine(_ text: String) async {
    for await line in trace.stream where line.contains(text) { break }
  }

  @Test func `serves what is stale at once, and asks again when that is due, and not before`() async throws {
    try await run(stopwatch.outages) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      server.fails.withLock { $0 = true }
      for index in 0..<20 {
        let answer = try await bench.get()
        #expect(answer.status == 200)
        // The first one was sent.
        #expect(answer["Cache-Status"]?.contains(index == 0 ? "fwd=stale" : "hit; ttl=-9") == true)
      }
      #expect(bench.origin.requests.count == 2)
      stopwatch.set(1)
      for _ in 0..<3 { #expect(try await bench.get().status == 200) }
      await waitForLine(" behind")
      #expect(bench.origin.requests.count == 3)
    }
  }

  @Test func `a proxy whose server fails takes the server's answer again as soon as one has come`() async throws {
    try await run(stopwatch.outages) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      server.fails.withLock { $0 = true }
      _ = try await bench.get()
      await waitForLine("outage began: GET http://127.0.0.1")
      server.fails.withLock { $0 = false }
      stopwatch.set(4)
      #expect(try await bench.get()["Cache-Status"]?.contains("ttl=-9") == true)
      await waitForLine("outage ended after 4 s")
      await waitForLine(" behind")
      #expect(try await bench.get()["Cache-Status"]?.contains("ttl=1") == true)
      #expect(bench.origin.requests.count == 3)
    }
  }

  @Test func `whose failures are for one client's ranges is asked by the others`() async throws {
    try await ProxyBench.run(statusName: "p", outages: stopwatch.outages) { request in
      !request.headers.contains { $0.name.lowercased() == "range" }
        ? .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=1, stale-if-error=3600\r\nContent-Length: 1\r\n\r\n1")
        : .raw("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
    } body: { bench async throws in
      _ = try await bench.get()
      bench.setAge(10)
      for number in 2...4 {
        _ = try await bench.get("GET /a\nRange: bytes=0-0")
        #expect(bench.origin.requests.count == number)
      }
      #expect(try await bench.get()["Cache-Status"]?.contains("fwd=stale") == true)
      #expect(bench.origin.requests.count == 5)
    }
  }

  @Test(arguments: ["GET /a\nCache-Control: no-cache", "PUT /a", "GET /other"])
  func `a proxy whose server fails sends a request that no stale response may answer`(request: String) async throws {
    try await run(stopwatch.outages) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      server.fails.withLock { $0 = true }
      for _ in 0..<6 { _ = try await bench.get("GET /failing") }
      let before = bench.origin.requests.count
      #expect(try await bench.get(request).text.isEmpty == false)
      #expect(bench.origin.requests.count == before + 1)
    }
  }

  @Test func `that is gone is asked by one request a second, whatever the URLs`() async throws {
    try await run(stopwatch.outages) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      bench.origin.stop()
      #expect(try await bench.get("GET /b").status == 502)
      await waitForLine("outage began")
      let answer = try await bench.get()
      #expect(answer.status == 200)
      #expect(answer.body == "1")
      #expect(try await bench.get("GET /c").status == 502)
    }
  }

  @Test(arguments: [500, 502, 503, 504])
  func `with a status that nothing stands in for is asked each time, whatever is stored`(status: Int) async throws {
    let fails = "HTTP/1.1 \(status) No\r\nExpires: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Length: 0\r\n\r\n"
    try await ProxyBench.run(
      isStaleOnDisconnect: true, statusName: "p", outages: stopwatch.outages, script: { _ in .raw(fails) }
    ) { bench async throws in
      for number in 1...8 {
        #expect(try await bench.get()["Cache-Status"]?.contains("fwd-status=\(status)") == true)
        #expect(bench.origin.requests.count == number)
      }
    }
  }

  @Test func `and is there again, with a status, is asked where only a disconnection lets a stale response stand in`()
    async throws
  {
    let server = server
    let hangsUp = Mutex(false)
    let script: MockServer.Handler = { request in
      if hangsUp.withLock(\.self) { return .close }
      return server.fails.withLock(\.self)
        ? .raw("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")
        : .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=1\r\nContent-Length: 1\r\n\r\n1")
    }
    try await ProxyBench.run(
      isStaleOnDisconnect: true, trace: { [trace] in trace.continuation.yield($0) }, outages: stopwatch.outages,
      script: script
    ) { bench async throws in
      _ = try await bench.get()
      bench.setAge(10)
      hangsUp.withLock { $0 = true }
      for _ in 0..<3 { #expect(try await bench.get().body == "1") }
      #expect(bench.origin.requests.count == 2)
      hangsUp.withLock { $0 = false }
      server.fails.withLock { $0 = true }
      stopwatch.set(2)
      #expect(try await bench.get().body == "1")
      await waitForLine(" behind")
      #expect(try await bench.get().status == 503)
      #expect(bench.origin.requests.count == 4)
    }
    trace.continuation.finish()
  }

  @Test func `a proxy whose server fails prints each line of the trace as one, whatever a URL has`() async throws {
    let proxy = Proxy(
      cache: ProxyCache(persistence: nil), upstream: try Upstream(UpstreamArgument.parse("http://127.0.0.1:1")),
      trace: { [trace] in trace.continuation.yield($0) })
    let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/a\u{1B}[2J\u{2028}b")
    _ = await proxy.answer(ForwardedRequest(head: head, body: ByteBuffer()))
    trace.continuation.finish()
    var lines: [String] = []
    for await line in trace.stream { lines.append(line) }
    #expect(lines.count == 2 && lines[0].hasPrefix("outage began: "))
    #expect(lines.allSatisfy { TraceLine.oneLine($0) == $0 })
  }

  @Test func `a proxy whose server fails is asked each time where outages are forgotten`() async throws {
    try await run(nil) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      server.fails.withLock { $0 = true }
      for _ in 0..<5 { #expect(try await bench.get().status == 200) }
      #expect(bench.origin.requests.count == 6)
    }
  }
}
