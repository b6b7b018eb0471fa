import CommandSupport
import Foundation
import ReactorCore
import ReactorTesting
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `reactor fetch --watch` {
  private func line(
    value: String = "null", error: String = "null", fetchStatus: String = "idle", origin: String? = nil,
    isStale: Bool = false
  ) -> String {
    let origin = origin.map { "\"\($0)\"" } ?? "null"
    return
      #"{"value":\#(value),"error":\#(error),"fetchStatus":"\#(fetchStatus)","origin":\#(origin),"isStale":\#(isStale)}"#
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func `prints each state at once, until it is interrupted`(signal: Int32, status: Int32) async throws {
    let gate = Gate()
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n[ 1.10,\n\"a b\" ]"
    let server = try MockServer.answering(["/a": .raw(answer).held(at: gate)])
    try await RunningCommand.run(["fetch", "--watch", server.url("/a")], signal: signal) { command in
      #expect(try await command.line() == line(fetchStatus: "fetching"))
      gate.open()
      #expect(try await command.line() == line(value: #"[1.10,"a b"]"#, origin: "network"))
      let end = try await command.end()
      #expect(end.status == status)
      #expect(end.error == "")
      #expect(end.rest == "")
    }
    #expect(server.requests.count == 1)
    server.stop()
  }

  @Test func `keeps the old value while the server is down, and has the new one when it is up`() async throws {
    var server = try MockServer.onOwnPort(["/a": .text("1")])
    let arguments = ["fetch", server.url("/a"), "--watch", "--every", "200ms"]
    try await RunningCommand.run(arguments) { command in
      _ = try await command.line(with: line(value: "1", origin: "network"))
      server.stop()
      let failed = try await command.line(with: #""error":{"kind":"network","#)
      #expect(failed.hasPrefix(#"{"value":1,"#))
      #expect(failed.hasSuffix(#","origin":"network","isStale":false}"#))
      server = try MockServer.answering(["/a": .text("2")], port: server.port)
      _ = try await command.line(with: line(value: "2", origin: "network"))
      #expect(try await command.end().status == 130)
    }
    server.stop()
  }

  @Test func `prints no line twice in a row`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch", "--every", "1ms"]) { command in
      var last = ""
      while server.requests.count < 10 {
        let line = try await command.line()
        #expect(line != last)
        last = line
      }
      #expect(try await command.end().status == 130)
    }
    server.stop()
  }

  @Test func `shows what the store has first, and follows the policy`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let fetch = ["fetch", server.url("/a"), "--store", directory.path(percentEncoded: false)]
      _ = try await Command.run(fetch)
      try await RunningCommand.run(fetch + ["--watch"]) { command in
        let first = try await command.line(with: #""value":1,"#)
        #expect(first == line(value: "1", origin: "persistence"))
        #expect(try await command.end().rest == "")
      }
      #expect(server.requests.count == 1)
      let stale = fetch + ["--watch", "--fresh-for", "0s", "--policy", "stale-while-revalidate"]
      try await RunningCommand.run(stale) { command in
        let new = try await command.line(with: #""origin":"network""#)
        #expect(new == line(value: "1", origin: "network", isStale: true))
        #expect(try await command.end().status == 130)
      }
      #expect(server.requests.count == 2)
    }
    server.stop()
  }

  @Test func `tells an answer that is an error with its status, and no secret`() async throws {
    let server = try MockServer.answering([:])
    let secret = ["--query", "api_key=s3cret", "--header", "Authorization: Bearer s3cret"]
    try await RunningCommand.run(["fetch", server.url("/a?token=s3cret"), "--watch"] + secret) { command in
      let message = "GET \(server.address)/a: the server answered 404; check the URL"
      let error = #"{"kind":"server","status":404,"message":"\#(message)"}"#
      #expect(try await command.line(with: "kind") == line(error: error))
      let end = try await command.end()
      #expect(end.status == 130)
      #expect(!(end.error + end.rest).contains("s3cret"))
    }
    server.stop()
  }

  @Test func `tells a failure of the network without a secret`() async throws {
    let server = try MockServer.onOwnPort([:])
    server.stop()
    let arguments = ["fetch", server.url("/a?token=s3cret"), "--query", "api_key=s3cret", "--watch", "--trace"]
    try await RunningCommand.run(arguments) { command in
      let failed = try await command.line(with: "kind")
      #expect(failed.contains("no server listens"))
      #expect(!failed.contains("s3cret"))
      #expect(!(try await command.end().error.contains("s3cret")))
    }
  }

  @Test func `tells that there is no connectivity, and continues`() async throws {
    let server = try MockServer.answering([:])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch", "--offline"]) { command in
      let error = #"{"kind":"noConnectivity","message":"no connectivity, so nothing was sent; try again when online"}"#
      let failed = try await command.line(with: "kind")
      #expect(failed == line(error: error))
      #expect(try await command.end().status == 130)
    }
    #expect(server.requests.isEmpty)
    server.stop()
  }

  @Test func `ends with 64 where there is nothing that can be requested`() async throws {
    let result = try await Command.run("fetch", "http://127.0.0.1/", "--watch", "--header", "Host: h")
    #expect(result.status == 64)
    #expect(result.error.contains("set by the transport"))
    #expect(!result.output.contains("kind"))
  }

  @Test func `traces to standard error only`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch", "--trace"]) { command in
      _ = try await command.line(with: #""value":1,"#)
      let end = try await command.end()
      #expect(end.error.contains("response 200, 1 bytes"))
      #expect(end.rest == "")
    }
    server.stop()
  }

  @Test(arguments: ["99999999999999999999h", "9223372036854775807ms"])
  func `may ask again in the far future`(interval: String) async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch", "--every", interval]) { command in
      _ = try await command.line(with: #""value":1,"#)
      #expect(try await command.end().status == 130)
    }
    #expect(server.requests.count == 1)
    server.stop()
  }
}

@Suite(.timeLimit(.minutes(5))) struct `The output of reactor fetch --watch` {
  @Test func `output without a reader ends the watch, though no further line is due`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch"]) { command in
      _ = try await command.line(with: #""value":1,"#)
      try command.close()
      let end = try await command.ended()
      #expect(end.status == 74)
      #expect(end.error == "reactor: standard output cannot be written to\n")
    }
    server.stop()
  }

  @Test func `the output of reactor fetch --watch may go to head`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let result = try await ChildProcess.run(
        URL(filePath: "/bin/sh"),
        [
          "-c", #"{ "$1" fetch "$2" --watch --every 1ms; echo "$?" >&2; } | head -n 1"#, "sh",
          Command.executable.path(percentEncoded: false), server.url("/a"),
        ], directory: directory)
      #expect(result.status == 0)
      #expect(result.output.count { $0 == UInt8(ascii: "\n") } == 1)
      #expect(result.error == "reactor: standard output cannot be written to\n74\n")
    }
    server.stop()
  }

  private static let large = "\"" + String(repeating: "x", count: 2_000_000) + "\""

  @Test func `the output of reactor fetch --watch that is full does not keep a signal from ending it`() async throws {
    let server = try MockServer.answering(["/a": .text(Self.large)])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch"], signal: SIGTERM) { command in
      // Its beginning is there, and the rest does not fit into the pipe.
      try await command.beginning(with: "xxx")
      #expect(try await command.end().status == 143)
    }
    server.stop()
  }

  @Test func `that is left in the middle of a line ends it, and not by SIGPIPE`() async throws {
    let server = try MockServer.answering(["/a": .text(Self.large)])
    try await RunningCommand.run(["fetch", server.url("/a"), "--watch"]) { command in
      try await command.beginning(with: "xxx")
      try command.close()
      #expect(try await command.ended().status == 74)
    }
    server.stop()
  }

  @Test func `to a full disk ends it`() async throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let script = #"exec "$1" fetch "$2" --watch > /dev/full"#
      let result = try await ChildProcess.run(
        URL(filePath: "/bin/sh"),
        ["-c", script, "sh", Command.executable.path(percentEncoded: false), server.url("/a")], directory: directory)
      #expect(result.status == 74)
      #expect(result.error == "reactor: standard output cannot be written to\n")
    }
    server.stop()
  }
}
