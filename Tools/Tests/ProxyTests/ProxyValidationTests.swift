import Foundation
import ReactorTesting
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A proxy's stored page` {
  /// An origin that sends a lifetime with whatever it answers.
  private static func answer(_ status: String, _ body: String = "", _ fields: String = "") -> MockServer.Response {
    .raw(
      "HTTP/1.1 \(status)\r\nCache-Control: max-age=60\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  @Test(arguments: [
    ("If-Match: \"zz\"", "412 Precondition Failed"),
    ("Range: bytes=99-\nCache-Control: no-cache", "416 Range Not Satisfiable"),
    ("Expect: 200-maybe\nCache-Control: no-cache", "417 Expectation Failed"),
  ])
  func `is not replaced by an error that one client's field has caused`(field: String, error: String) async throws {
    let name = field.prefix { $0 != ":" }
    let script: MockServer.Handler = {
      WireMessage($0)[String(name)] == nil ? Self.answer("200 OK", "good") : Self.answer(error)
    }
    try await ProxyBench.run(statusName: "p", script: script) { bench in
      #expect(try await bench.get().body == "good")
      let own = try await bench.get("GET /a\n\(field)")
      #expect("\(own.status)" == error.prefix(3) && own["Cache-Status"]?.contains("stored") == false)
      #expect(try await bench.get().body == "good")
      _ = try await bench.get("GET /b\n\(field)")
      #expect(try await bench.get("GET /b").body == "good")
    }
  }

  @Test func `a proxy's stored page is requested once more where a 304 confirms another`() async throws {
    let script: MockServer.Handler = { request in
      WireMessage(request)["If-None-Match"] == nil
        ? Self.answer("200 OK", "two", "ETag: \"2\"\r\n") : .raw("HTTP/1.1 304 Not Modified\r\nETag: \"3\"\r\n\r\n")
    }
    try await ProxyBench.run(statusName: "p", script: script) { bench in
      _ = try await bench.get()
      bench.setAge(61)
      let answer = try await bench.get()
      #expect(answer.body == "two" && answer["Cache-Status"] == "p; fwd=stale; fwd-status=200; stored")
      #expect(bench.origin.requests.count == 3)
      #expect(try await bench.get()["Cache-Status"] == "p; hit; ttl=60")
    }
  }
}
