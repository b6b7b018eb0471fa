import Foundation
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

  @Test func `takes the server's answer again as soon as one has come`() async throws {
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

  @Test(arguments: ["GET /a\nCache-Control: no-cache", "PUT /a", "GET /other"])
  func `sends a request that no stale response may answer`(request: String) async throws {
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

  @Test func `is asked each time where outages are forgotten`() async throws {
    try await run(nil) { bench in
      _ = try await bench.get()
      bench.setAge(10)
      server.fails.withLock { $0 = true }
      for _ in 0..<5 { #expect(try await bench.get().status == 200) }
      #expect(bench.origin.requests.count == 6)
    }
  }
}
