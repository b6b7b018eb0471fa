import CommandSupport
import Foundation
import ReactorTesting
import Synchronization
import Testing
import Wire

@testable import reactor

/// Debian's `redis-server` on a loopback port, until `body` ends.
private enum RedisServer {
  static let path = "/usr/bin/redis-server"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: path) }

  static func run(_ options: [String] = [], _ body: (Int) async throws -> Void) async throws {
    try await TemporaryDirectory.use { directory in
      let probe = try MockServer { _ in .status(200) }
      let port = probe.port
      probe.stop()
      let arguments =
        [
          "--bind", "127.0.0.1", "--port", "\(port)", "--save", "", "--dir", directory.path(percentEncoded: false),
          "--requirepass", "s3cret",
        ] + options
      let server = Task {
        _ = try? await ChildProcess.run(
          URL(filePath: path), arguments, directory: directory, deadline: .seconds(100))
      }
      defer { server.cancel() }
      // It answers, though only with an error: the password is missing.
      for _ in 0..<1_000 where (try? await WireClient.exchange("QUIT\r\n", port: port)) == nil {
        try await Task.sleep(for: .milliseconds(10))
      }
      try await body(port)
      server.cancel()
      await server.value
    }
  }
}

@Suite("reactor proxy --fleet", .timeLimit(.minutes(5))) struct FleetProxyTests {
  private func request(_ head: String, port: Int) async throws -> WireMessage {
    let lines = [head, "Host: localhost:\(port)", "Connection: close", "Content-Length: 0"]
    return WireMessage(try await WireClient.exchange(lines.joined(separator: "\r\n") + "\r\n\r\n", port: port))
  }

  @Test(
    .enabled(if: RedisServer.isInstalled, "redis-server is not installed: apt-get install redis-server"))
  func `two proxies ask once, and a change through one is known to the other`() async throws {
    let count = Atomic<Int>(0)
    let version = Atomic<Int>(1)
    let origin = try MockServer { request in
      if request.method == "PUT" { version.add(1, ordering: .relaxed) }
      guard request.method == "GET" else { return .status(204) }
      count.add(1, ordering: .relaxed)
      let body = "v\(version.load(ordering: .relaxed))"
      return .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: \(body.count)\r\n\r\n\(body)")
    }
    try await RedisServer.run { redis in
      let arguments = [
        "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--cache-status", "edge",
        "--fleet", "redis://:s3cret@127.0.0.1:\(redis)", "--namespace", "test",
      ]
      try await RunningCommand.run(arguments) { one in
        let first = try #require(URL(string: try await one.line())?.port)
        try await RunningCommand.run(arguments) { other in
          let second = try #require(URL(string: try await other.line())?.port)
          // Once both hear each other, what one has is the other's.
          var path = 0
          while true {
            path += 1
            _ = try await request("GET /\(path) HTTP/1.1", port: first)
            let shared = try await request("GET /\(path) HTTP/1.1", port: second)
            if shared["Cache-Status"]?.hasSuffix("detail=fleet") == true { break }
            try #require(path < 1_000)
          }
          // On a busy machine, the store may not answer within its budget. Then a proxy contacts
          // the upstream by itself.
          var asked: [Int] = []
          while asked.last != 1, asked.count < 20 {
            let before = count.load(ordering: .relaxed)
            let round = asked.count
            try await withThrowingTaskGroup(of: String.self) { group in
              for index in 0..<32 {
                let port = index % 2 == 0 ? first : second
                group.addTask { try await request("GET /cold\(round) HTTP/1.1", port: port).body }
              }
              for try await body in group { #expect(body == "v1") }
            }
            asked.append(count.load(ordering: .relaxed) - before)
          }
          #expect(asked.last == 1, "\(asked)")
          for change in 2...5 {
            _ = try await request("PUT /cold HTTP/1.1", port: change % 2 == 0 ? first : second)
            // The message may take a moment.
            var body = ""
            for _ in 0..<1_000 where body != "v\(change)" {
              body = try await request("GET /cold HTTP/1.1", port: change % 2 == 0 ? second : first).body
            }
            #expect(body == "v\(change)")
          }
          let address = ["--fleet", "redis://:s3cret@127.0.0.1:\(redis)", "--namespace", "test"]
          let status = try await Command.run(["fleet", "status", "--json"] + address)
          #expect(status.status == 0 && status.output.filter { !$0.isWhitespace }.contains("\"nodes\":2"), "\(status)")
          #expect(
            try await Command.run(["fleet", "status"] + address.map { $0.replacing("s3cret", with: "x") }).status == 77)
          let known = count.load(ordering: .relaxed)
          let verified = try await Command.run(["fleet", "verify", "--json"] + address)
          let counts = verified.output.filter { !$0.isWhitespace }
          #expect(
            verified.status == 0 && counts.contains("\"bad\":0") && !counts.contains("\"records\":0"), "\(verified)")
          let purge = ["fleet", "purge", "--url", "http://127.0.0.1:\(origin.port)/cold"] + address
          #expect(try await Command.run(purge).status == 0)
          while count.load(ordering: .relaxed) == known { _ = try await request("GET /cold HTTP/1.1", port: second) }
          #expect(try await Command.run(["fleet", "purge", "--all"] + address).status == 0)
          while count.load(ordering: .relaxed) == known + 1 { _ = try await request("GET /cold HTTP/1.1", port: first) }
          let end = try await other.end()
          #expect(end.status == 0)
          let lines = end.error.split(separator: "\n")
          #expect(lines.first == "fleet: following" && lines.last == "fleet: off")
        }
        #expect(try await one.end().status == 0)
      }
    }
    origin.stop()
  }

  @Test func `without a server it serves, says so once, and names no password`() async throws {
    let origin = try MockServer { _ in
      .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\n\r\none")
    }
    let arguments = [
      "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--fleet",
      "redis://:s3cret@127.0.0.1:1", "--namespace", "test",
    ]
    try await RunningCommand.run(arguments) { command in
      let port = try #require(URL(string: try await command.line())?.port)
      #expect(try await request("GET /a HTTP/1.1", port: port).body == "one")
      #expect(try await request("GET /a HTTP/1.1", port: port)["Age"] != nil)
      let end = try await command.end()
      #expect(end.status == 0)
      #expect(!end.error.contains("s3cret"))
      let lines = end.error.split(separator: "\n")
      // Blind twice, the second time with the reason; alone after ten seconds; off.
      #expect(lines.allSatisfy { $0.hasPrefix("fleet: ") } && lines.count <= 4)
    }
    origin.stop()
  }

  @Test(.enabled(if: RedisServer.isInstalled, "redis-server is not installed: apt-get install redis-server"))
  func `a server that takes no changes is named, and a proxy caches by itself`() async throws {
    let count = Atomic<Int>(0)
    let origin = try MockServer { _ in
      count.add(1, ordering: .relaxed)
      return .raw("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\n\r\none")
    }
    try await RedisServer.run(["--min-replicas-to-write", "1"]) { redis in
      let address = ["--fleet", "redis://:s3cret@127.0.0.1:\(redis)", "--namespace", "test"]
      let arguments = ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)"] + address
      try await RunningCommand.run(arguments) { command in
        let port = try #require(URL(string: try await command.line())?.port)
        for _ in 0..<3 { #expect(try await request("GET /a HTTP/1.1", port: port).body == "one") }
        #expect(count.load(ordering: .relaxed) == 1)
        let status = try await Command.run(["fleet", "status"] + address)
        #expect(status.status == 69 && status.error.contains("NOREPLICAS"), "\(status)")
        let verified = try await Command.run(["fleet", "verify"] + address)
        #expect(verified.status == 77 && verified.error.contains("NOREPLICAS"), "\(verified)")
        let end = try await command.end()
        #expect(end.error.contains("fleet: blind") && end.error.contains("NOREPLICAS"), "\(end.error)")
      }
    }
    origin.stop()
  }

  @Test func `a fleet without a server is 69`() async throws {
    let address = ["--fleet", "redis://127.0.0.1:1", "--namespace", "test"]
    for arguments in [["status"], ["watch"], ["verify"], ["purge", "--all"]] {
      let result = try await Command.run(["fleet"] + arguments + address)
      #expect(result.status == 69 && result.error.contains("refused"), "\(result)")
    }
    #expect(try await Command.run(["fleet", "purge"] + address).status == 64)
  }

  @Test(arguments: [
    (["--fleet", "redis://127.0.0.1"], "--namespace"), (["--namespace", "a"], "--fleet"),
    (["--fleet", "http://127.0.0.1", "--namespace", "a"], "--fleet"),
    (["--fleet", "redis://127.0.0.1", "--namespace", "a b"], "--namespace"),
    (["--fleet", "redis://127.0.0.1", "--namespace", "a", "--keep-cookies"], "--keep-cookies"),
    (["--fleet", "redis://127.0.0.1", "--namespace", "a", "--fleet-ca", "/dev/null"], "--fleet-ca"),
    (["--fleet", "rediss://127.0.0.1", "--namespace", "a", "--fleet-key", "/dev/null"], "--fleet-key"),
    (["--fleet", "rediss://127.0.0.1", "--namespace", "a", "--fleet-ca", "/nowhere/ca.pem"], "/nowhere/ca.pem"),
  ])
  func `an option that cannot be meant is named`(options: [String], name: String) async throws {
    let result = try await Command.run(
      ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1"] + options)
    #expect(result.status == 64 && result.error.contains(name), "\(result.error)")
  }
}
