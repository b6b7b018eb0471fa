import CommandSupport
import Foundation
import ReactorCore
import ReactorOutbox
import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `reactor outbox list` {
  @Test(arguments: OutboxBench.kinds)
  func `lists the entries in their order, as JSON and as a table`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let first = try await bench.save("/1?q=a", "--method", "PUT", "--lane", "a")
      let second = try await bench.save("/2")
      let lines = try await bench.list()
      #expect(lines.map(\.id) == [first, second] && lines.map(\.lane) == ["a", "main"])
      #expect(lines.map(\.method) == ["PUT", "POST"])
      #expect(lines.map(\.url) == [bench.server.url("/1?q=a"), bench.server.url("/2")])
      #expect(lines.allSatisfy { $0.state == "waiting" && $0.reason == "turn" && $0.attempts == 0 && $0.status == nil })
      #expect(lines.allSatisfy { abs($0.submittedAt.timeIntervalSinceNow) < 60 })
      let table = try await bench.outbox("list").output.split(separator: "\n")
      #expect(table.count == 3 && table[0].hasPrefix("ID") && table[1].hasPrefix(first))
      #expect(table[2].hasSuffix(bench.server.url("/2")))
    }
  }

  @Test func `a listed entry has each member, including null ones`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      _ = try await bench.save("/1")
      let json = try await bench.outbox("list", "--json").output
      let objects = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [[String: Any]])
      #expect(
        objects.map { Set($0.keys) } == [
          ["id", "state", "reason", "lane", "method", "url", "attempts", "submittedAt", "status"]
        ])
      #expect(objects[0]["status"] is NSNull)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `and all others find nothing where there is no outbox, and make none`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      #expect(try await bench.list().isEmpty)
      #expect(try await bench.outbox("list").status == 0)
      let drain = try await bench.outbox("drain")
      #expect(drain.status == 0 && drain.output == "0\n" && drain.error == "")
      for subcommand in ["retry", "discard", "withdraw"] {
        #expect(try await bench.outbox(subcommand, UUID().uuidString).status == 65)
      }
      #expect(!bench.exists)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `lists what another program made and only that can read, which no drain counts`(kind: String) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      try await bench.submitUnreadable()
      let line = try #require(try await bench.list().first)
      #expect(line.state == "unreadable" && line.method == nil && line.url == nil && line.reason == nil)
      let drain = try await bench.outbox("drain")
      #expect(drain.status == 0 && drain.output == "0\n")
      #expect(try await bench.outbox("retry", line.id).status == 65)
      #expect(try await bench.outbox("discard", line.id).status == 0)
      #expect(try await bench.list().isEmpty)
    }
  }

  @Test func `names a journal that was set aside, on standard error`() async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      _ = try await bench.save("/1")
      let names = try FileManager.default.contentsOfDirectory(atPath: bench.path)
      let journal = try #require(names.first { $0.hasSuffix(".journal") })
      try Data("damaged from the first byte on, and longer than a header".utf8).write(
        to: URL(filePath: bench.path).appending(path: journal))
      for subcommand in ["list", "drain"] {
        let result = try await bench.outbox(subcommand)
        #expect(result.status == 65 && result.error.contains(".damaged-"), "\(subcommand)")
      }
      // A user who has examined the file moves it away.
      for name in try FileManager.default.contentsOfDirectory(atPath: bench.path) where name.contains(".damaged-") {
        try FileManager.default.removeItem(atPath: "\(bench.path)/\(name)")
      }
      let result = try await bench.outbox("list", "--json")
      #expect(result.status == 0 && result.error == "")
    }
  }

  @Test(arguments: ["file/outbox.sqlite", "directory.sqlite", "file"])
  func `is 74 where the outbox cannot be read`(name: String) async throws {
    try await OutboxBench.run(name) { bench async throws in
      try Data("a file".utf8).write(to: bench.directory.appending(path: "file"))
      try FileManager.default.createDirectory(
        at: bench.directory.appending(path: "directory.sqlite"), withIntermediateDirectories: true)
      // A path below a file does not exist.
      let status: Int32 = name.hasPrefix("file/") ? 0 : 74
      for subcommand in ["list", "drain"] {
        #expect(try await bench.outbox(subcommand).status == status)
      }
    }
  }
}

/// A mutation that the command does not know.
private struct Unknown: Mutation {
  func request(_ known: Known) -> Resource { Resource("a", method: .post) }
}

extension OutboxBench {
  /// Saves a mutation that the command cannot read.
  fileprivate func submitUnreadable() async throws {
    let layer = try layer()
    _ = try await layer.submit(Unknown())
  }
}
