import CommandSupport
import Foundation
import ReactorCore
import ReactorTesting
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `A method of reactor fetch` {
  @Test(arguments: ["POST", "PATCH", "PUT", "DELETE", "OPTIONS"])
  func `is sent once, and its response is printed and not stored`(method: String) async throws {
    let server = try MockServer.answering(["/a": .text("<p>done</p>")])
    try await TemporaryDirectory.use { directory async throws in
      let store = directory.appending(path: "store").path(percentEncoded: false)
      for count in 1...2 {
        let result = try await Command.run(
          "fetch", server.url("/a"), "--method", method, "--body", "{}", "--header", "Content-Type: application/json",
          "--store", store)
        #expect(result.status == 0 && result.output == "<p>done</p>\n" && result.error == "", "\(result)")
        #expect(server.requests.count == count && server.requests.last?.method == method)
        #expect(server.requests.last?["Content-Type"] == "application/json")
      }
      let list = try await Command.run("store", "list", "--store", store, "--json").output
      #expect(try JSONValue(parsing: Data(list.utf8)) == .array([]))
    }
    server.stop()
  }

  @Test func `may be QUERY, whose response is stored by its body`() async throws {
    let server = try MockServer.answering(["/a": .text("1", headers: [.cacheControl: "max-age=600"])])
    try await TemporaryDirectory.use { directory async throws in
      let store = ["--store", directory.appending(path: "store").path(percentEncoded: false)]
      let query = ["fetch", server.url("/a"), "--method", "QUERY", "--header", "Content-Type: application/json"]
      for body in ["{}", "[]", "{}"] {
        #expect(try await Command.run(query + ["--body", body] + store).output == "1\n")
      }
      #expect(server.requests.map(\.body) == [Data("{}".utf8), Data("[]".utf8)])
      let untyped = try await Command.run(["fetch", server.url("/a"), "--method", "QUERY", "--body", "{}"] + store)
      #expect(untyped.status != 0 && untyped.error.contains("has no Content-Type"), "\(untyped)")
      let sent = try await Command.run(["send", server.url("/a"), "--method", "QUERY", "--body", "{}"] + store)
      #expect(sent.status == 64 && server.requests.count == 2, "\(sent)")
    }
    server.stop()
  }

  @Test(arguments: ["POST", "PATCH", "PUT", "DELETE"])
  func `a method of reactor fetch that changes something makes the stored response stale`(method: String) async throws {
    let server = try MockServer.answering(["/a": .text("1", headers: [.cacheControl: "max-age=600"])])
    try await TemporaryDirectory.use { directory async throws in
      let store = ["--store", directory.appending(path: "store").path(percentEncoded: false)]
      for _ in 1...2 { #expect(try await Command.run(["fetch", server.url("/a")] + store).output == "1\n") }
      #expect(server.requests.count == 1)
      #expect(try await Command.run(["fetch", server.url("/a"), "--method", method] + store).status == 0)
      #expect(try await Command.run(["fetch", server.url("/a")] + store).output == "1\n")
      #expect(server.requests.map(\.method) == ["GET", method, "GET"])
    }
    server.stop()
  }

  @Test func `with an unsure end says so, and that nothing is sent again`() async throws {
    let server = try MockServer.answering([
      "/a": .short(announcing: 99, body: Data("[1,".utf8)), "/b": .silence, "/c": .close,
    ])
    let ends = [("/a", Int32(69), "connection was lost"), ("/b", 75, "timed out"), ("/c", 69, "not HTTP")]
    for (path, status, words) in ends {
      let result = try await Command.run(
        "fetch", server.url(path), "--body", "{}", "--timeout", "500ms", "--retries", "2")
      #expect(result.status == status && result.output == "")
      #expect(result.error.hasPrefix("reactor: POST \(server.address)\(path): ") && result.error.contains(words))
      #expect(result.error.hasSuffix(" the server may have carried it out, so check before you send it again\n"))
    }
    #expect(server.requests.map(\.target) == ["/a", "/b", "/c"])
    server.stop()
  }

  @Test func `without a server names reactor send`() async throws {
    let server = try MockServer.onOwnPort([:])
    server.stop()
    let result = try await Command.run("fetch", server.url("/a?token=s3cret"), "--method", "DELETE")
    #expect(result.status == 69)
    #expect(
      result.error == "reactor: DELETE \(server.address)/a: no server listens at that host and port (URLError -1004); "
        + "check the URL, or save the request with reactor send\n")
  }

  @Test func `whose response lacks the key path says that the server accepted it`() async throws {
    let server = try MockServer.answering(["/a": .text("<html>")])
    let result = try await Command.run("fetch", server.url("/a"), "--method", "PUT", "--key-path", "data")
    #expect(result.status == 65 && result.output == "")
    #expect(
      result.error.hasPrefix("reactor: PUT \(server.address)/a: the server accepted the request, and its response "))
    server.stop()
  }

  @Test(arguments: ["OPTIONS", "TRACE", "GET", "HEAD"])
  func `a method of reactor fetch that changes nothing is not for reactor send`(method: String) async throws {
    try await OutboxBench.run("outbox") { bench async throws in
      let result = try await bench.send("/a", "--method", method)
      #expect(result.status == 64 && result.error.contains("use reactor fetch") && !bench.exists)
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct `A body on standard input` {
  private func run(_ script: String, _ arguments: [String]) async throws -> ChildProcess.Result {
    try await TemporaryDirectory.use { directory async throws in
      try await ChildProcess.run(
        URL(filePath: "/bin/sh"), ["-c", script, "sh", Command.executable.path(percentEncoded: false)] + arguments,
        directory: directory)
    }
  }

  @Test(arguments: ["-", "@-"]) func `a body on standard input is sent by fetch`(body: String) async throws {
    let server = try MockServer.answering(["/a": .text("{}")])
    let result = try await run(
      #"{ printf 'one\n'; sleep 0.2; printf 'two\0'; } | "$@""#, ["fetch", server.url("/a"), "--body", body])
    #expect(result.status == 0, "\(result)")
    #expect(server.requests.map(\.requestLine) == ["POST /a HTTP/1.1"])
    #expect(server.requests.first?.body == Data("one\ntwo\0".utf8))
    server.stop()
  }

  @Test(arguments: OutboxBench.kinds) func `a body on standard input is saved by send`(kind: String) async throws {
    try await OutboxBench.run(kind, ["/a": .status(204)]) { bench async throws in
      let send = ["send", bench.server.url("/a"), "--outbox", bench.path, "--body", "-", "--wait", "30s"]
      #expect(try await run(#"printf '{"a": 1}' | "$@""#, send).status == 0)
      #expect(bench.server.requests.map(\.body) == [Data(#"{"a": 1}"#.utf8)])
    }
  }

  @Test func `a body on standard input that cannot be read is 74, and nothing is sent`() async throws {
    let server = try MockServer.answering(["/a": .text("{}")])
    let result = try await run(#""$@" < /"#, ["fetch", server.url("/a"), "--body", "-"])
    #expect(result.status == 74)
    #expect(result.error == "reactor: standard input cannot be read; give the body as text or @file\n")
    #expect(server.requests.isEmpty)
    server.stop()
  }

  @Test func `a body on standard input that is empty is an empty body`() async throws {
    let server = try MockServer.answering(["/a": .text("{}")])
    #expect(try await run(#""$@" < /dev/null"#, ["fetch", server.url("/a"), "--body", "-"]).status == 0)
    #expect(server.requests.map(\.requestLine) == ["POST /a HTTP/1.1"])
    #expect(server.requests.first?.body == Data())
    server.stop()
  }
}
