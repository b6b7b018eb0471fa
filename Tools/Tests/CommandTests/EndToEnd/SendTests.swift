import CommandSupport
import Foundation
import ReactorTesting
import Testing

/// Each test runs over a directory and over an SQLite file.
@Suite(.timeLimit(.minutes(5))) struct `reactor send` {
  @Test(arguments: OutboxBench.kinds)
  func `prints the id once the request is saved, and sends nothing`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let result = try await bench.send("/a")
      #expect(result.status == 0 && result.error == "")
      let id = try #require(UUID(uuidString: result.output.trimmingCharacters(in: .newlines)))
      #expect(result.output == "\(id)\n")
      #expect(try await bench.list().map(\.id) == ["\(id)"])
      #expect(bench.received.isEmpty)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `prints the answer's body behind the id if it waits`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .text(#"{"id":7}"#, status: 201)]) { bench async throws in
      let result = try await bench.send(
        "/a?x=1", "--method", "patch", "--body", "new", "--header", "X-One: 1", "--header", "Content-Type: text/plain",
        "--wait", "30s")
      #expect(result.status == 0 && result.error == "")
      let lines = result.output.split(separator: "\n")
      #expect(lines.count == 2 && UUID(uuidString: String(lines[0])) != nil && lines[1] == #"{"id":7}"#)
      #expect(bench.received == ["PATCH /a?x=1"])
      let request = try #require(bench.server.requests.first)
      #expect(request["X-One"] == "1" && request["Content-Type"] == "text/plain" && request.body == Data("new".utf8))
      #expect(UUID(uuidString: request["Idempotency-Key"] ?? "") != nil)
      #expect(try await bench.list().isEmpty)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `has printed the id before the answer is there`(kind: String) async throws {
    let gate = Gate()
    try await OutboxBench.run(kind, ["/a": .text("done").held(at: gate)]) { bench async throws in
      let arguments = ["send", bench.server.url("/a"), "--outbox", bench.path, "--wait", "30s"]
      try await RunningCommand.run(arguments) { command in
        let id = try await command.line()
        try await bench.server.waitForRequests()
        let line = try #require(try await bench.list().first)
        #expect(line.id == id && line.state == "sending" && line.reason == nil && line.attempts == 1)
        gate.open()
        #expect(try await command.line() == "done")
        #expect(try await command.ended().status == 0)
      }
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `sends what its lane has before, and neither what comes behind nor other lanes`(kind: String) async throws {
    let gate = Gate()
    try await OutboxBench.run(
      kind, ["/1": .status(204), "/2": .status(204).held(at: gate), "/3": .status(204), "/other": .status(204)]
    ) { bench async throws in
      _ = try await bench.save("/other", "--lane", "b")
      _ = try await bench.save("/1", "--lane", "a")
      let arguments = ["send", bench.server.url("/2"), "--outbox", bench.path, "--lane", "a", "--wait", "30s"]
      try await RunningCommand.run(arguments) { command in
        _ = try await command.line()
        try await bench.server.waitForRequests(count: 2)
        _ = try await bench.save("/3", "--lane", "a")
        gate.open()
        let end = try await command.ended()
        #expect(end.status == 0 && end.rest == "")
      }
      #expect(bench.received == ["POST /1", "POST /2"])
      #expect(try await bench.list().map(\.url) == [bench.server.url("/other"), bench.server.url("/3")])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `is 76 where the server refuses, and the entry stays listed`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .text("too long", status: 422)]) { bench async throws in
      let result = try await bench.send("/a", "--wait", "30s")
      #expect(result.status == 76)
      let text = "POST \(bench.server.address)/a: the server answered 422; check the query, the fields and the body"
      #expect(result.error == "reactor: \(text)\ntoo long\n")
      let line = try #require(try await bench.list().first)
      #expect(result.output == "\(line.id)\n")
      #expect(line.state == "refused" && line.status == 422 && line.reason == nil)
    }
  }

  @Test(arguments: [(412, []), (409, ["--header", "If-Match: \"1\""])])
  func `takes a conflict for a refusal`(status: Int, arguments: [String]) async throws {
    try await OutboxBench.run("outbox", ["/a": .status(status)]) { bench async throws in
      let send = ["send", bench.server.url("/a"), "--outbox", bench.path, "--method", "PUT", "--wait", "30s"]
      #expect(try await Command.run(send + arguments).status == 76)
      #expect(try await bench.list().map(\.state) == ["refused"])
      #expect(bench.received.count == 1)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `is 76 where the outcome stays unknown and nothing may be sent again`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .close]) { bench async throws in
      let result = try await bench.send("/a", "--idempotency-window", "0s", "--wait", "30s")
      #expect(result.status == 76 && result.error.contains("may or may not have carried out"))
      #expect(bench.keys == [nil])
      #expect(try await bench.list().map(\.state) == ["unresolved"])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `is 75 where it has not ended in time, and it stays in the outbox`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .silence]) { bench async throws in
      let result = try await bench.send("/a", "--wait", "3s")
      #expect(result.status == 75 && result.error.contains("stays in the outbox"))
      let line = try #require(try await bench.list().first)
      #expect(result.output == "\(line.id)\n")
      #expect(line.state == "unknown" && line.attempts == 1 && line.status == nil)
    }
  }

  @Test func `sends nothing if it waits for no time`() async throws {
    try await OutboxBench.run("outbox", ["/a": .status(204)]) { bench async throws in
      #expect(try await bench.send("/a", "--wait", "0s").status == 75)
      #expect(bench.received.isEmpty)
      #expect(try await bench.list().map(\.state) == ["waiting"])
    }
  }

  @Test func `ends an attempt at its timeout, and sends the same bytes under the same key again`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      bench.server.answer("/a", with: .silence, .text("done"))
      let result = try await bench.send("/a", "--body", "b", "--timeout", "200ms", "--wait", "30s")
      #expect(result.status == 0 && result.output.hasSuffix("\ndone\n"))
      #expect(bench.keys.count == 2 && bench.keys[0] != nil && bench.keys[0] == bench.keys[1])
      #expect(bench.server.requests.allSatisfy { $0.body == Data("b".utf8) })
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `cut off by an interrupt is 130, and its outcome is unknown`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .silence]) { bench async throws in
      let arguments = ["send", bench.server.url("/a"), "--outbox", bench.path, "--wait", "30s"]
      try await RunningCommand.run(arguments) { command in
        _ = try await command.line()
        try await bench.server.waitForRequests()
        #expect(try await command.end().status == 130)
      }
      #expect(try await bench.list().map(\.state) == ["unknown"])
    }
  }

  @Test(arguments: [301, 302])
  func `takes a redirect that is no result for no acceptance`(status: Int) async throws {
    try await OutboxBench.run("outbox", ["/a": .redirect(status, to: "/login"), "/login": .text("b")]) {
      bench async throws in
      let result = try await bench.send("/a", "--wait", "30s")
      #expect(result.status == 76)
      #expect(bench.received == ["POST /a"])
      #expect(try await bench.list().map(\.state) == [status == 301 ? "refused" : "unresolved"])
    }
  }

  @Test func `follows no redirect, and a 303 counts as accepted`() async throws {
    try await OutboxBench.run("outbox", ["/a": .redirect(303, to: "/b"), "/b": .text("b")]) { bench async throws in
      #expect(try await bench.send("/a", "--wait", "30s").status == 0)
      #expect(bench.received == ["POST /a"])
      #expect(try await bench.list().isEmpty)
    }
  }
}
