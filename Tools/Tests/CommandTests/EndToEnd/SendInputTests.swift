import CommandSupport
import Foundation
import ReactorTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct `What reactor send takes` {
  @Test(
    arguments: OutboxBench.kinds,
    [
      ["--header", "Authorization: Bearer s3cret"], ["--header", "proxy-authorization: s3cret"],
      ["--header", "Cookie: id=s3cret"], ["--header", "Host: h"], ["--header", "Idempotency-Key:"],
      ["--header", "Idempotency-Key: 1", "--header", "Idempotency-Key: 2"], ["--method", "GET"],
    ])
  func `holds no secret and nothing that cannot be sent, else nothing is made`(
    kind: String, arguments: [String]
  ) async throws {
    try await OutboxBench.run(kind) { bench async throws in
      let result = try await Command.run(
        ["send", bench.server.url("/a"), "--outbox", bench.path, "--wait", "1s"] + arguments)
      #expect(result.status == 64 && result.output == "" && !result.error.contains("s3cret"))
      #expect(!bench.exists && bench.received.isEmpty)
    }
  }

  @Test(arguments: ["http://127.0.0.1:1/?access_token=s3cret", "http://127.0.0.1:1/?a=1&Password=s3cret"])
  func `has a URL without a secret, else nothing is made`(url: String) async throws {
    try await OutboxBench.run("outbox.sqlite") { bench async throws in
      let result = try await Command.run("send", url, "--outbox", bench.path)
      #expect(result.status == 64 && result.output == "" && !result.error.contains("s3cret"))
      #expect(!bench.exists)
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `has a body of at most 1 MiB`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(204)]) { bench async throws in
      let file = bench.directory.appending(path: "body")
      let argument = "@\(file.path(percentEncoded: false))"
      try Data(count: (1 << 20) + 1).write(to: file)
      let tooLarge = try await bench.send("/a", "--body", argument)
      #expect(tooLarge.status == 64 && tooLarge.output == "" && !bench.exists)
      try Data(count: 1 << 20).write(to: file)
      #expect(try await bench.send("/a", "--body", argument, "--wait", "30s").status == 0)
      #expect(bench.server.requests.map(\.body.count) == [1 << 20])
    }
  }

  @Test(arguments: ["POST", "PATCH", "PUT", "LOCK"])
  func `has the key that the caller gives, whatever the method`(method: String) async throws {
    try await OutboxBench.run("outbox", ["/a": .status(204)]) { bench async throws in
      let key = ["--header", "idempotency-key: mine"]
      let send = ["send", bench.server.url("/a"), "--outbox", bench.path, "--method", method, "--wait", "30s"]
      #expect(try await Command.run(send + key).status == 0)
      #expect(bench.keys == ["mine"])
    }
  }

  @Test(arguments: ["PUT", "DELETE"]) func `a request has no key where the method is idempotent`(
    method: String
  ) async throws {
    try await OutboxBench.run("outbox", ["/a": .status(204)]) { bench async throws in
      #expect(try await bench.send("/a", "--method", method, "--wait", "30s").status == 0)
      #expect(bench.keys == [nil])
    }
  }

  @Test(arguments: OutboxBench.kinds)
  func `keeps its window, which counts in a later drain`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .close]) { bench async throws in
      _ = try await bench.save("/a", "--idempotency-window", "0s")
      #expect(try await bench.outbox("drain").status == 0)
      #expect(bench.keys == [nil])
      #expect(try await bench.list().map(\.state) == ["unresolved"])
    }
  }

  /// On Linux, URLSession sends a request again by itself if a kept-alive connection breaks.
  @Test func `is sent once without a key, also behind another on a kept-alive connection`() async throws {
    try await OutboxBench.run("outbox", ["/a": .text("a"), "/b": .close]) { bench async throws in
      for target in ["/a", "/b"] { _ = try await bench.save(target, "--idempotency-window", "0s") }
      #expect(try await bench.outbox("drain").status == 0)
      #expect(bench.received == ["POST /a", "POST /b"])
    }
  }

  @Test(arguments: ["file/outbox", "file/outbox.sqlite", "file", "directory.sqlite"])
  func `is 74 where it cannot be saved`(name: String) async throws {
    try await OutboxBench.run(name) { bench async throws in
      try Data("a file".utf8).write(to: bench.directory.appending(path: "file"))
      try FileManager.default.createDirectory(
        at: bench.directory.appending(path: "directory.sqlite"), withIntermediateDirectories: true)
      let result = try await bench.send("/a")
      #expect(result.status == 74 && result.output == "" && result.error.hasPrefix("reactor: "))
    }
  }

  @Test func `is 74 where the id cannot be printed`() async throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    try await OutboxBench.run("outbox") { bench async throws in
      let command = Command.executable.path(percentEncoded: false)
      let script = "exec '\(command)' send '\(bench.server.url("/a"))' --outbox '\(bench.path)' > /dev/full"
      let result = try await ChildProcess.run(URL(filePath: "/bin/sh"), ["-c", script], directory: bench.directory)
      #expect(result.status == 74 && result.error == "reactor: standard output cannot be written to\n")
    }
  }
}
