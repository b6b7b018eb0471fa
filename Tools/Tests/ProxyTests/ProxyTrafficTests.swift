import Foundation
import NIOCore
import NIOPosix
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A server that breaks the rules` {
  private static let good = MockServer.Response.raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood")

  @Test(arguments: [
    "", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "HTTP/1.1 200 OK\r\nContent-Le",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 1000 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", "HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\nx", "HTTP/1.1 200 OK\r\nTransfer-Encoding: x-chunked\r\n\r\nx",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, unheard-of\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: unheard-of\r\nTransfer-Encoding: GZIP\r\n\r\nx",
  ])
  func `a rule broken by a server is a 502 only for that exchange`(answer: String) async throws {
    let script: MockServer.Handler = { $0.target == "/bad" ? .raw(answer) : Self.good }
    try await ProxyBench.run(script: script) { bench in
      for _ in 0..<2 {
        let bad = try await bench.get("GET /bad")
        #expect(bad.text.contains("HTTP/1.1 502 "))
        #expect(try await bench.get("GET /good").body == "good")
      }
      #expect(bench.origin.requests.count == 4)
    }
  }

  @Test func `by sending more than it announced has the rest ignored`() async throws {
    let script: MockServer.Handler = { request in
      request.target == "/bad"
        ? .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngoodHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        : Self.good
    }
    try await ProxyBench.run(script: script) { bench in
      for path in ["/bad", "/good", "/bad", "/good"] {
        let answer = try await bench.get("GET \(path)")
        #expect(answer.body == "good")
      }
    }
  }

  @Test func `by saying nothing is a 502 after a while`() async throws {
    try await ProxyBench.run(silence: .milliseconds(50), script: { _ in .silence }) { bench in
      let answer = try await bench.get()
      #expect(answer.status == 502)
    }
  }

  @Test func `by being gone is a 502, and its stored answers are there`() async throws {
    let fresh = MockServer.Response.raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nContent-Length: 1\r\n\r\n1")
    try await ProxyBench.run(script: { _ in fresh }) { bench async throws in
      #expect(try await bench.get().body == "1")
      bench.origin.stop()
      #expect(try await bench.get("GET /b").status == 502)
      #expect(try await bench.get().body == "1")
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `Clients of a proxy` {
  @Test func `each request is sent to its own host, not only to the first's`() async throws {
    try await ProxyBench.run(script: { _ in .text("1") }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      for (host, status) in [("proxy", 200), ("p", 200), ("evil.example", 421)] {
        try await client.send("HEAD /a HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(WireMessage(try await client.read { $0.hasSuffix("\r\n\r\n") }).status == status)
      }
    }
  }

  @Test func `clients of a proxy lose a connection on which nothing happens for a while`() async throws {
    try await ProxyBench.run(idle: .milliseconds(50), script: { _ in .silence }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      #expect(try await client.rest().isEmpty)
    }
  }

  @Test(arguments: [true, false])
  func `get their answers from the thread of their connection, unless the cache reads files`(isInMemory: Bool)
    async throws
  {
    let isOnEventLoop = Mutex<[Bool]>([])
    let trace: @Sendable (String) -> Void = { _ in
      isOnEventLoop.withLock { $0.append(MultiThreadedEventLoopGroup.currentEventLoop != nil) }
    }
    let fresh = MockServer.Response.raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nContent-Length: 1\r\n\r\n1")
    try await ProxyBench.run(trace: trace, staysOnEventLoop: isInMemory, script: { _ in fresh }) { bench async throws in
      for _ in 0..<2 { #expect(try await bench.get().body == "1") }
      #expect(isOnEventLoop.withLock(\.self) == [isInMemory, isInMemory])
    }
  }

  @Test func `clients of a proxy are served a hundred at once`() async throws {
    let gate = Gate()
    let script: MockServer.Handler = { .text($0.target).held(at: gate) }
    try await ProxyBench.run(script: script) { bench in
      try await withThrowingTaskGroup(of: (Int, WireMessage).self) { group in
        for number in 0..<100 { group.addTask { (number, try await bench.get("GET /\(number)")) } }
        try await bench.origin.waitForRequests(count: 100)
        gate.open()
        for try await (number, message) in group { #expect(message.body == "/\(number)") }
      }
    }
  }

  @Test func `beyond the limit wait until one has gone`() async throws {
    let request = { (path: String) in "GET \(path) HTTP/1.1\r\nHost: p\r\n\r\n" }
    try await ProxyBench.run(
      maxConnections: 1, script: { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood") }
    ) { bench in
      let first = try await WireClient.connect(port: bench.server.port)
      let second = try await WireClient.connect(port: bench.server.port)
      // Of the two, the first to connect is let in.
      try await second.send(request("/second"))
      for _ in 0..<20 {
        try await first.send(request("/first"))
        _ = try await first.read { $0.hasSuffix("good") }
      }
      #expect(bench.origin.requests.allSatisfy { $0.target == "/first" })
      try await first.close()
      #expect(try await second.read { $0.hasSuffix("good") }.hasPrefix("HTTP/1.1 200 "))
      #expect(bench.origin.requests.last?.target == "/second")
      // It makes room again as well.
      try await second.close()
      #expect(try await bench.get("GET /third").body == "good")
    }
  }

  @Test func `clients of a proxy that reset their connection end their request to the server`() async throws {
    try await ProxyBench.run(script: { _ in .silence }) { bench in
      let client = try await WireClient.connect(port: bench.server.port)
      try await client.send("GET /a HTTP/1.1\r\nHost: p\r\n\r\n")
      try await bench.origin.waitForRequests()
      try await client.reset()
      try await bench.origin.waitUntilDisconnected()
    }
  }

  @Test func `get the stale answer at once, while one request continues behind it though they hang up`() async throws {
    let gate = Gate()
    let count = Mutex(0)
    let (lines, line) = AsyncStream.makeStream(of: Void.self)
    let script: MockServer.Handler = { _ in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      let answer =
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=1, stale-while-revalidate=60\r\nETag: \"\(number)\"\r\n"
        + "Content-Length: 1\r\n\r\n\(number)"
      return number == 1 ? .raw(answer) : .raw(answer).held(at: gate)
    }
    try await ProxyBench.run(trace: { if $0.contains(" behind") { line.yield() } }, script: script) { bench in
      let first = try await bench.get()
      #expect(first.body == "1")
      bench.setAge(2)
      for _ in 0..<3 { #expect(try await bench.get().body == "1") }
      try await bench.origin.waitForRequests(count: 2)
      #expect(WireMessage(bench.origin.requests[1])["If-None-Match"] == "\"1\"")
      gate.open()
      for await _ in lines { break }
      #expect(try await bench.get().body == "2")
      #expect(bench.origin.requests.count == 2)
    }
  }
}
