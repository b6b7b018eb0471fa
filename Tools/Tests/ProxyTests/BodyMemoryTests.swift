import Foundation
import NIOCore
import ReactorTesting
import Testing
import Wire

@testable import reactor

private func grow(_ held: inout HeldBytes, by bytes: Int, in memory: BodyMemory) -> Bool {
  held.grow(by: bytes, in: memory)
}

@Suite struct `The memory of bodies` {
  private static let mebibyte = 1 << 20

  @Test func `the memory of bodies counts what is beyond the first 64 KiB of a body, until its last copy is gone`() {
    let memory = BodyMemory(limit: Self.mebibyte)
    var held = HeldBytes()
    #expect(grow(&held, by: 64 << 10, in: memory) && memory.count == 0)
    #expect(grow(&held, by: 1, in: memory) && memory.count == 64 << 10 + 1)
    let copy = held
    held = HeldBytes()
    withExtendedLifetime(copy) { #expect(memory.count == copy.count && copy.count == 64 << 10 + 1) }
  }

  @Test func `the memory of bodies is free again, and refuses what does not fit without counting it`() {
    let memory = BodyMemory(limit: Self.mebibyte)
    do {
      var (one, two) = (HeldBytes(), HeldBytes())
      #expect(grow(&one, by: 600 << 10, in: memory))
      #expect(!grow(&two, by: 600 << 10, in: memory))
      #expect(memory.count == 600 << 10 && two.count == 0)
      #expect(grow(&two, by: 400 << 10, in: memory))
      withExtendedLifetime((one, two)) { #expect(memory.count == 1_000 << 10) }
    }
    #expect(memory.count == 0)
  }

  @Test func `the memory of bodies has one copy of a body for all clients that are sent it`() throws {
    let bodies = SharedBodies(BodyMemory(limit: 10 * Self.mebibyte))
    let data = Data((0..<3 * Self.mebibyte).map { UInt8(truncatingIfNeeded: $0 >> 3) })
    do {
      let one = try #require(bodies.body(data, held: nil))
      let two = try #require(bodies.body(Data(Array(data)), held: nil))
      #expect(one === two && bodies.count == 1 && bodies.memory.count == data.count)
      #expect(Data(one.pieces.flatMap { Array($0.readableBytesView) }) == data)
      #expect(one.pieces.allSatisfy { $0.readableBytes <= 64 << 10 })
      // Equal in length and in what is looked at first, and different.
      var other = data
      other[1_000_000] ^= 1
      let three = try #require(bodies.body(other, held: nil))
      #expect(three !== one && bodies.memory.count == 2 * data.count)
    }
    #expect(bodies.count == 0 && bodies.memory.count == 0)
  }

  @Test func `has room for a body that is counted already, and for a small one, and no other`() throws {
    let bodies = SharedBodies(BodyMemory(limit: Self.mebibyte))
    var held = HeldBytes()
    #expect(grow(&held, by: Self.mebibyte, in: bodies.memory))
    #expect(bodies.body(Data(count: Self.mebibyte), held: held) != nil)
    #expect(bodies.body(Data(count: 64 << 10), held: nil) != nil)
    #expect(bodies.body(Data(repeating: 1, count: 65 << 10), held: nil) == nil)
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A proxy whose memory for bodies is taken` {
  private static let body = String(repeating: "0123456789abcdef", count: 8 << 10)
  private static let fresh =
    "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"

  @Test func `passes a response on as it arrives, and does not store it`() async throws {
    try await ProxyBench.run(
      statusName: "p", responseBodies: 64 << 10, script: { _ in .raw(Self.fresh) }
    ) { bench async throws in
      for _ in 0..<2 {
        let answer = try await bench.get()
        #expect(answer.status == 200 && answer.body == Self.body)
        #expect(answer["Cache-Status"] == "p; fwd=uri-miss; fwd-status=200; detail=no-memory")
      }
      #expect(bench.proxy.responseBodies.memory.count == 0)
    }
  }

  @Test func `answers a stored large body with 503, until there is room`() async throws {
    try await ProxyBench.run(
      statusName: "p", responseBodies: 200 << 10, script: { _ in .raw(Self.fresh) }
    ) { bench async throws in
      #expect(try await bench.get().body == Self.body)
      var held = HeldBytes()
      // The bytes of the first response may be released after its client has them.
      while !grow(&held, by: 199 << 10, in: bench.proxy.responseBodies.memory) { await Task.yield() }
      let refused = try await bench.get()
      #expect(refused.status == 503 && refused["Retry-After"] == "1")
      #expect(refused["Cache-Status"] == "p; detail=no-memory")
      held = HeldBytes()
      #expect(try await bench.get().body == Self.body)
      #expect(bench.origin.requests.count == 1)
    }
  }

  @Test func `refuses the body of a request with 503 as soon as it does not fit, and takes it later`() async throws {
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    try await ProxyBench.run(requestBodies: 100 << 10, script: { _ in .raw(answer) }) { bench async throws in
      let first = try await WireClient.connect(port: bench.server.port)
      let head = "POST /a HTTP/1.1\r\nHost: p\r\nContent-Length: \(90 << 10)\r\n\r\n"
      try await first.send(head + String(repeating: "x", count: 80 << 10))
      while bench.proxy.requestBodies.count < 80 << 10 { await Task.yield() }
      #expect(try await bench.get("POST /b", body: String(repeating: "y", count: 90 << 10)).status == 503)
      // A small one is not counted.
      #expect(try await bench.get("POST /c", body: "z").status == 200)
      try await first.send(String(repeating: "x", count: 10 << 10))
      #expect(try await first.read { $0.hasSuffix("ok") }.hasPrefix("HTTP/1.1 200 "))
      #expect(try await bench.get("POST /b", body: String(repeating: "y", count: 90 << 10)).status == 200)
      #expect(bench.origin.requests.map(\.target) == ["/c", "/a", "/b"])
    }
  }
}
