import CommandSupport
import Foundation
import ReactorTesting
import Testing

@testable import reactor

/// One bad input: what the server answers, how it is asked, and how that ends.
struct BadInput: Sendable, CustomTestStringConvertible {
  var name: String
  var answer = MockServer.Response.text("{}")
  var arguments: [String] = []
  var status: Int32
  var error: String

  var testDescription: String { name }
}

@Suite(.timeLimit(.minutes(5))) struct `Bad input to reactor fetch` {
  static let bad: [BadInput] = [
    BadInput(
      name: "a header with LF", arguments: ["--header", "A: b\nC: d"], status: 64, error: "cannot contain a newline"),
    BadInput(
      name: "a header with CR", arguments: ["--header", "A: b\rC: d"], status: 64, error: "cannot contain a newline"),
    BadInput(name: "a header without a colon", arguments: ["--header", "A"], status: 64, error: "'Name: value'"),
    BadInput(name: "a header of the transport's", arguments: ["--header", "Host: h"], status: 64, error: "transport"),
    BadInput(name: "a duration without a unit", arguments: ["--timeout", "5"], status: 64, error: "unit is missing"),
    BadInput(name: "a duration of no time", arguments: ["--timeout", "0s"], status: 64, error: "more than zero"),
    BadInput(name: "no duration", arguments: ["--fresh-for", "soon"], status: 64, error: "whole number"),
    BadInput(name: "an interval without a watch", arguments: ["--every", "1s"], status: 64, error: "needs --watch"),
    BadInput(
      name: "an interval at which nothing is asked for",
      arguments: ["--watch", "--every", "1s", "--policy", "cache-only"], status: 64, error: "never does"),
    BadInput(
      name: "an interval of no time", arguments: ["--watch", "--every", "0s"], status: 64, error: "more than zero"),
    BadInput(
      name: "a negative interval", arguments: ["--watch", "--every=-1s"], status: 64,
      error: "begins with a whole number"),
    BadInput(
      name: "a watch of POST", arguments: ["--watch", "--method", "post"], status: 64, error: "leave it out for POST"),
    BadInput(
      name: "a watch with a body", arguments: ["--watch", "--body", "{}"], status: 64, error: "GET, HEAD and QUERY"),
    BadInput(name: "no number of retries", arguments: ["--retries", "many"], status: 64, error: "from 0 (no retries)"),
    BadInput(name: "fewer retries than none", arguments: ["--retries=-1"], status: 64, error: "from 0 (no retries)"),
    BadInput(name: "no policy", arguments: ["--policy", "fastest"], status: 64, error: "cache-first"),
    BadInput(name: "no such file", arguments: ["--body", "@/nowhere/at/all"], status: 64, error: "/nowhere/at/all"),
    BadInput(name: "no query item", arguments: ["--query", "q"], status: 64, error: "name=value"),
    BadInput(name: "no method", arguments: ["--method", "GET /"], status: 64, error: "not an HTTP method"),
    BadInput(name: "no such flag", arguments: ["--quickly"], status: 64, error: "--quickly"),
    BadInput(name: "no store", arguments: ["--store", ""], status: 64, error: "give the name of a directory"),
    BadInput(name: "HTML", answer: .text("<html>"), status: 65, error: "check the URL: expected a JSON value, line 1"),
    BadInput(name: "truncated JSON", answer: .text(#"{"a": [1,"#), status: 65, error: "byte 9"),
    BadInput(name: "nothing", answer: .status(204), status: 65, error: "/bad: the response is not JSON"),
    BadInput(name: "two values", answer: .text("{} {}"), status: 65, error: "byte 3"),
    BadInput(
      name: "JSON 10,000 deep", answer: .text(String(repeating: "[", count: 10_000)), status: 65,
      error: "cannot be read"),
    BadInput(
      name: "no such member", arguments: ["--key-path", "a.b"], status: 65, error: "check --key-path and --require"),
    BadInput(name: "no copy", arguments: ["--policy", "cache-only"], status: 66, error: "not cached"),
    BadInput(name: "no connectivity", arguments: ["--offline"], status: 69, error: "no connectivity"),
    BadInput(
      name: "a body that ends early", answer: .short(announcing: 99, body: Data("[1,".utf8)), status: 69,
      error: "connection was lost"),
    BadInput(
      name: "a redirect loop", answer: .redirect(to: "/bad"), status: 69,
      error: "redirects"),
    BadInput(
      name: "a store that is a file", arguments: ["--store", "/dev/null"], status: 74, error: "the store failed"),
    BadInput(name: "silence", answer: .silence, arguments: ["--timeout", "200ms"], status: 75, error: "timed out"),
    BadInput(
      name: "404", answer: .text("no\u{0}such", status: 404), status: 76,
      error: "/bad: the server answered 404; check the URL\nno\u{0}such\n"),
    BadInput(name: "500", answer: .status(500), status: 76, error: "answered 500"),
  ]

  @Test(arguments: bad) func `ends with its own code and words, and prints nothing`(input: BadInput) async throws {
    let server = try MockServer.answering(["/bad": input.answer])
    let result = try await Command.run(["fetch", server.url("/bad")] + input.arguments)
    server.stop()
    #expect(result.status == input.status)
    #expect(result.error.contains(input.error))
    #expect(result.output == "")
  }

  @Test(arguments: ["", "nowhere", "ftp://127.0.0.1/", "http://user:secret@127.0.0.1/", "http://"])
  func `that is no URL is a usage error`(url: String) async throws {
    let result = try await Command.run("fetch", url)
    #expect(result.status == 64)
    #expect(result.output == "")
  }

  @Test func `a port without a listener is 69`() async throws {
    let server = try MockServer.answering([:])
    let url = server.url("/")
    server.stop()
    let result = try await Command.run("fetch", url)
    #expect(result.status == 69)
    #expect(result.error.contains("no server listens"))
  }

  @Test(arguments: [0, 0.5]) func `in the store is a miss, and said in the trace`(part: Double) async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let fetch = ["fetch", server.url("/a"), "--trace", "--store", directory.path(percentEncoded: false)]
      _ = try await Command.run(fetch)
      for file in try files(in: directory) {
        let bytes = try Data(contentsOf: file)
        try bytes.prefix(Int(Double(bytes.count) * part)).write(to: file)
      }
      let result = try await Command.run(fetch)
      #expect(result.status == 0)
      #expect(result.output == "1\n")
      #expect(result.trace.contains { $0.hasPrefix("load failed, the store failed: ") })
      #expect(server.requests.count == 2)
      #expect(try await Command.run(fetch).trace.contains { $0.hasPrefix("persistence hit, fresh") })
    }
    server.stop()
  }

  private func files(in directory: URL) throws -> [URL] {
    try FileManager.default.subpathsOfDirectory(atPath: directory.path(percentEncoded: false))
      .map { directory.appending(path: $0) }
      .filter { try $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true }
  }

  @Test func `with a member twice is used, and said in the trace`() async throws {
    let server = try MockServer.answering(["/a": .text(#"{"id": 1, "id": 2}"#)])
    let result = try await Command.run("fetch", server.url("/a"), "--trace")
    server.stop()
    #expect(result.status == 0)
    #expect(result.trace.contains { $0.hasPrefix("duplicate members") && $0.contains("id") })
  }

  @Test func `on standard output, a full disk, is 74`() async throws {
    guard FileManager.default.fileExists(atPath: "/dev/full") else { return }
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let script = "exec '\(Command.executable.path(percentEncoded: false))' fetch '\(server.url("/a"))' > /dev/full"
      let result = try await ChildProcess.run(URL(filePath: "/bin/sh"), ["-c", script], directory: directory)
      #expect(result.status == 74)
      #expect(result.error == "reactor: standard output cannot be written to\n")
    }
    server.stop()
  }

  @Test func `leaves what was stored before as it was`() async throws {
    let server = try MockServer.answering(["/a": .text("1")])
    try await TemporaryDirectory.use { directory in
      let fetch = ["fetch", server.url("/a"), "--store", directory.path(percentEncoded: false)]
      _ = try await Command.run(fetch)
      server.stop()
      #expect(try await Command.run(fetch + ["--policy", "network-only"]).status == 69)
      #expect(try await Command.run(fetch + ["--policy", "cache-only"]).output == "1\n")
    }
  }
}
