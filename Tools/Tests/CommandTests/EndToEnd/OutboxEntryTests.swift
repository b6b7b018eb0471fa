import CommandSupport
import Foundation
import ReactorTesting
import Testing

/// Each test runs over a directory and over an SQLite file.
@Suite(.timeLimit(.minutes(5))) struct `An entry of reactor outbox` {
  @Test(arguments: OutboxBench.kinds)
  func `that was refused is sent again under its id and another key, behind its lane`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .status(422), .status(204))
      bench.server.answer("/b", with: .status(204))
      let id = try await bench.save("/a", "--body", "a")
      #expect(try await bench.outbox("drain").output == "0\n")
      let other = try await bench.save("/b")
      let result = try await bench.outbox("retry", id)
      #expect(result.status == 0 && result.output == "" && result.error == "")
      let lines = try await bench.list()
      #expect(lines.map(\.id) == [other, id] && lines.map(\.state) == ["waiting", "waiting"])
      #expect(try await bench.outbox("drain").output == "0\n")
      #expect(bench.received == ["POST /a", "POST /b", "POST /a"])
      #expect(Set(bench.keys).count == 3 && bench.server.requests.last?.body == Data("a".utf8))
      #expect(try await bench.list().isEmpty)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `an entry of reactor outbox that is unresolved is sent again with the same bytes`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      bench.server.answer("/a", with: .close, .status(204))
      let id = try await bench.save(
        "/a", "--body", "a", "--header", "Idempotency-Key: mine", "--idempotency-window", "0s")
      #expect(try await bench.outbox("drain").output == "0\n")
      #expect(try await bench.list().map(\.state) == ["unresolved"])
      #expect(try await bench.outbox("retry", id).status == 0)
      #expect(try await bench.outbox("drain").output == "0\n")
      #expect(bench.keys == ["mine", "mine"])
      #expect(bench.server.requests.map(\.body) == [Data("a".utf8), Data("a".utf8)])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `that was refused can be discarded, and cannot be withdrawn`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(422)]) { bench async throws in
      let id = try await bench.save("/a")
      #expect(try await bench.outbox("drain").output == "0\n")
      let withdraw = try await bench.outbox("withdraw", id)
      #expect(withdraw.status == 65 && withdraw.error.contains("the entry is refused"))
      let discard = try await bench.outbox("discard", id.lowercased())
      #expect(discard.status == 0 && discard.output == "" && discard.error == "")
      #expect(try await bench.list().isEmpty)
      #expect(try await bench.outbox("discard", id).status == 65)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `an entry of reactor outbox that waits can be withdrawn, and is never sent`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let id = try await bench.save("/a")
      for subcommand in ["retry", "discard"] {
        let result = try await bench.outbox(subcommand, id)
        #expect(result.status == 65 && result.error.contains("the entry is waiting (turn)"))
      }
      let withdraw = try await bench.outbox("withdraw", id)
      #expect(withdraw.status == 0 && withdraw.output == "" && withdraw.error == "")
      #expect(try await bench.outbox("drain").output == "0\n")
      #expect(try await bench.list().isEmpty && bench.received.isEmpty)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `an entry of reactor outbox that a byte was sent of cannot be withdrawn`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(503, headers: [.retryAfter: "3600"])]) { bench async throws in
      let id = try await bench.save("/a")
      #expect(try await bench.outbox("drain").status == 75)
      let result = try await bench.outbox("withdraw", id)
      #expect(result.status == 65 && result.error.contains("the entry is waiting (backoff)"))
      #expect(try await bench.list().map(\.id) == [id])
    }
  }

  @Test(arguments: OutboxBench.kinds, ["retry", "discard", "withdraw"])
  func `an invalid id is 65`(kind: String, subcommand: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let kept = try await bench.save("/a")
      for id in [UUID().uuidString, "nonsense", String(kept.prefix(8))] {
        let result = try await bench.outbox(subcommand, id)
        #expect(result.status == 65 && result.error.contains("has no entry '\(id)'"))
      }
      #expect(try await bench.list().map(\.id) == [kept])
    }
  }
}
