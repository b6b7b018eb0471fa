import Foundation
import HTTPCachingProxy
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A QUERY at a proxy` {
  private static let request = "QUERY /search\nContent-Type: application/json"

  /// An origin that answers each request with its number, its method and its body.
  private static func script(held gate: Gate? = nil) -> MockServer.Handler {
    let count = Mutex(0)
    return { request in
      let number = count.withLock {
        $0 += 1
        return $0
      }
      let body = "\(number) \(request.method) \(String(decoding: request.body, as: UTF8.self))"
      let response = MockServer.Response.raw(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      return gate.map(response.held) ?? response
    }
  }

  @Test func `is forwarded with its content, and answered from the store by the same content`() async throws {
    try await ProxyBench.run(statusName: "p", script: Self.script()) { bench in
      for (body, expected) in [("{1}", "1"), ("{2}", "2"), ("{1}", "1"), ("{2}", "2")] {
        let answer = try await bench.get(Self.request, body: body)
        #expect(answer.body == "\(expected) QUERY \(body)")
      }
      let hit = try await bench.get(Self.request, body: "{1}")
      #expect(hit["Cache-Status"] == "p; hit; ttl=60")
      let others = [
        try await bench.get("GET /search"), try await bench.get("POST /search", body: "x"),
        try await bench.get(Self.request, body: "{1}"),
      ]
      #expect(others.map(\.body) == ["3 GET ", "4 POST x", "5 QUERY {1}"])
    }
  }

  @Test(arguments: ["", "\nContent-Type: text/plain\nX: \(HTTPCache.largestQueryBody + 1)"])
  func `without a type, or with too much for a key, is passed on and not stored`(fields: String) async throws {
    let size = fields.isEmpty ? 1 : HTTPCache.largestQueryBody + 1
    try await ProxyBench.run(statusName: "p", script: Self.script()) { bench in
      for number in 1...2 {
        let answer = try await bench.get("QUERY /search\(fields)", body: String(repeating: "x", count: size))
        #expect(answer.body.hasPrefix("\(number) QUERY x"))
        #expect(answer["Cache-Status"] == "p; fwd=bypass; fwd-status=200")
      }
    }
  }

  @Test func `waits for an equal one, and for none with another content`() async throws {
    let gate = Gate()
    try await ProxyBench.run(statusName: "p", script: Self.script(held: gate)) { bench in
      try await withThrowingTaskGroup(of: String.self) { group in
        for index in 0..<8 { group.addTask { try await bench.get(Self.request, body: "\(index % 2)").body } }
        await bench.waitForCollapsed(6)
        try await bench.origin.waitForRequests(count: 2)
        gate.open()
        var bodies: Set<String> = []
        for try await body in group { bodies.insert(body) }
        #expect(bodies.count == 2 && Set(bodies.map(\.last)) == ["0", "1"])
      }
      #expect(bench.origin.requests.count == 2)
    }
  }
}
