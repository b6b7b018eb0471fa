import CommandSupport
import Foundation
import ReactorTesting
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `reactor fetch` {
  private static let articles = #"[ {"id": 1, "title": "a"},{"id": 2} ]"#

  private func withServer(
    _ answers: [String: MockServer.Response], _ body: (MockServer, _ store: String) async throws -> Void
  ) async throws {
    let server = try MockServer.answering(answers)
    try await TemporaryDirectory.use { directory in
      try await body(server, directory.appending(path: "store").path(percentEncoded: false))
    }
    server.stop()
  }

  @Test func `prints the bytes as received and nothing else`() async throws {
    try await withServer(["/articles": .text(Self.articles)]) { server, _ in
      let result = try await Command.run("fetch", server.url("/articles"))
      #expect(result.status == 0)
      #expect(result.output == Self.articles + "\n")
      #expect(result.error == "")
    }
  }

  @Test(arguments: ["HEAD", "DELETE", "PUT", "POST"])
  func `prints nothing of a response without a body, and ends well`(method: String) async throws {
    let answer = MockServer.Response.raw(
      "HTTP/1.1 \(method == "HEAD" ? "200 OK\r\nContent-Length: 9" : "204 Done")\r\n\r\n")
    let server = try MockServer { $0.target == "/bad" ? .text("") : answer }
    let result = try await Command.run(
      "fetch", server.url("/a"), "--method", method, "--key-path", "data", "--require", "id")
    #expect(result.status == 0 && result.output == "" && result.error == "")
    #expect(server.requests.map(\.method) == [method])
    // A GET has something to print.
    #expect(try await Command.run("fetch", server.url("/bad")).status == 65)
    server.stop()
  }

  @Test func `watches a HEAD, whose value is null`() async throws {
    let server = try MockServer { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") }
    try await RunningCommand.run(["fetch", server.url("/a"), "--method", "HEAD", "--watch"]) { command in
      let line = try await command.line(with: #""fetchStatus":"idle""#)
      #expect(line.hasPrefix(#"{"value":null,"error":null,"#) && line.contains(#""origin":"network""#))
      _ = try await command.end()
    }
    server.stop()
  }

  @Test func `tells each event in one line on standard error`() async throws {
    try await withServer(["/articles": .text(Self.articles)]) { server, _ in
      let result = try await Command.run("fetch", server.url("/articles"), "--trace")
      #expect(result.output == Self.articles + "\n")
      #expect(result.trace.contains { $0.hasPrefix("request GET http://127.0.0.1:") })
      #expect(result.trace.contains { $0.hasPrefix("response 200, 37 bytes") })
      #expect(result.trace.allSatisfy { $0.hasSuffix(" GET \(server.url("/articles"))") })
    }
  }

  @Test func `parses nothing of an answer that says that nothing has changed`() async throws {
    let server = try MockServer { request in
      let tag: HTTPFields = [.eTag: "\"1\""]
      return request["If-None-Match"] == "\"1\"" ? .status(304, headers: tag) : .text(Self.articles, headers: tag)
    }
    try await TemporaryDirectory.use { directory in
      let store = directory.appending(path: "store").path(percentEncoded: false)
      let arguments = ["fetch", server.url("/a"), "--store", store, "--policy", "network-only", "--trace"]
      let (first, second) = (try await Command.run(arguments), try await Command.run(arguments))
      #expect(second.status == 0 && second.output == first.output)
      #expect(second.trace.contains { $0.hasPrefix("response 304, 0 bytes") })
      #expect(second.trace.contains { $0.hasPrefix("304 not modified, 0 bytes of the response parsed") })
    }
    server.stop()
  }

  @Test func `sends what it was told to`() async throws {
    try await withServer(["/a": .text("{}")]) { server, _ in
      let result = try await Command.run(
        "fetch", server.url("/a?x=1"), "--query", "q=a b&c", "--query", "-n=-1", "--method", "put", "--header",
        "X-One: 1", "--header", "Accept: text/plain", "--body", #"{"b": 1}"#)
      #expect(result.status == 0)
      let request = try #require(server.requests.first)
      #expect(request.requestLine == "PUT /a?x=1&q=a%20b%26c&-n=-1 HTTP/1.1")
      #expect(request["X-One"] == "1" && request["Accept"] == "text/plain")
      #expect(request.body == Data(#"{"b": 1}"#.utf8))
    }
  }

  @Test func `sends a file's bytes, by POST unless told otherwise`() async throws {
    try await withServer(["/a": .text("{}")]) { server, store in
      let file = store + "-body"
      try Data("from a file\n".utf8).write(to: URL(filePath: file))
      _ = try await Command.run("fetch", server.url("/a"), "--body", "@\(file)")
      let request = try #require(server.requests.first)
      #expect(request.requestLine == "POST /a HTTP/1.1")
      #expect(request.body == Data("from a file\n".utf8))
    }
  }

  @Test func `prunes elements without the required members, and counts them in the trace`() async throws {
    let envelope = #"{"data": {"articles": \#(Self.articles)}}"#
    try await withServer(["/e": .text(envelope)]) { server, _ in
      let whole = try await Command.run("fetch", server.url("/e"), "--key-path", "data.articles")
      #expect(whole.output == Self.articles + "\n")
      let pruned = try await Command.run(
        "fetch", server.url("/e"), "--key-path", "data.articles", "--require", "id,title", "--trace")
      #expect(pruned.status == 0)
      #expect(pruned.output == #"[ {"id": 1, "title": "a"} ]"# + "\n")
      #expect(pruned.trace.contains { $0.hasPrefix("pruned 1: [1] expected a member title") })
      let strict = try await Command.run(
        "fetch", server.url("/e"), "--key-path", "data.articles", "--require", "id,title", "--strict")
      #expect(strict.status == 65)
      #expect(strict.output == "")
      #expect(strict.error.contains("data.articles[1]"))
    }
  }

  @Test func `answers from the store, in a new process and without a server`() async throws {
    try await withServer(["/a": .text("{}", headers: [.eTag: "\"1\""])]) { server, store in
      #expect(try await Command.run("fetch", server.url("/a"), "--store", store).output == "{}\n")
      let second = try await Command.run("fetch", server.url("/a"), "--store", store, "--trace")
      #expect(second.output == "{}\n")
      #expect(second.trace.contains { $0.hasPrefix("persistence hit, fresh") })
      #expect(server.requests.count == 1)
      let offline = try await Command.run(
        "fetch", server.url("/a"), "--store", store, "--offline", "--policy", "network-first")
      #expect(offline.status == 0)
      #expect(offline.output == "{}\n")
      #expect(server.requests.count == 1)
    }
  }

  @Test func `keeps apart what different headers got`() async throws {
    try await withServer(["/a": .text("{}")]) { server, store in
      for header in [
        "Accept-Language: de", "Accept-Language: fr", "Authorization: Bearer a", "Authorization: Bearer b",
      ] {
        _ = try await Command.run("fetch", server.url("/a"), "--store", store, "--header", header)
      }
      #expect(server.requests.count == 4)
      _ = try await Command.run("fetch", server.url("/a"), "--store", store, "--header", "Authorization: Bearer b")
      #expect(server.requests.count == 4)
    }
  }

  @Test func `asks with the validator when the copy is stale`() async throws {
    try await withServer(["/a": .text("{}", headers: [.eTag: "\"1\""])]) { server, store in
      for _ in 0..<2 {
        _ = try await Command.run("fetch", server.url("/a"), "--store", store, "--fresh-for", "0s")
      }
      #expect(server.requests.count == 2)
      #expect(server.requests.last?["If-None-Match"] == "\"1\"")
    }
  }

  @Test func `returns the stale copy, and saves what its revalidation brings before it ends`() async throws {
    try await withServer(["/a": .text("1"), "/b": .text("2")]) { server, store in
      let fetch = ["fetch", server.url("/a"), "--store", store, "--fresh-for", "0s"]
      _ = try await Command.run(fetch)
      let stale = try await Command.run(fetch + ["--policy", "stale-while-revalidate", "--trace"])
      #expect(stale.output == "1\n")
      #expect(stale.trace.contains { $0.hasPrefix("saved") })
      #expect(server.requests.count == 2)
    }
  }

  @Test func `shows no credentials in the trace`() async throws {
    try await withServer(["/a": .text("no", status: 401)]) { server, _ in
      let result = try await Command.run(
        "fetch", server.url("/a?api_key=s3cret"), "--header", "Authorization: Bearer s3cret", "--trace")
      #expect(result.status == 76)
      #expect(!result.error.contains("s3cret"))
    }
  }

  @Test(arguments: [0, 2]) func `sends again what failed, as often as it is told to`(retries: Int) async throws {
    let busy = MockServer.Response.text("busy", status: 503, headers: [.retryAfter: "0"])
    try await withServer(["/a": busy]) { server, _ in
      let result = try await Command.run("fetch", server.url("/a"), "--retries", "\(retries)", "--trace")
      #expect(result.status == 76)
      #expect(result.output == "")
      #expect(result.error.hasSuffix("/a: the server answered 503; try again later\nbusy\n"))
      #expect(server.requests.count == retries + 1)
      let retried = result.trace.filter { $0.hasPrefix("retry, attempt ") }
      #expect(retried.count == retries)
      #expect(retried.allSatisfy { $0.contains(" ms, status 503 GET \(server.url("/a"))") })
    }
  }

  @Test func `sends nothing again by default, and never a POST`() async throws {
    try await withServer(["/a": .status(503)]) { server, _ in
      let once = try await Command.run("fetch", server.url("/a"))
      #expect(once.status == 76)
      #expect(server.requests.count == 1)
      let post = try await Command.run("fetch", server.url("/a"), "--method", "post", "--retries", "2")
      #expect(post.status == 76)
      #expect(server.requests.count == 2)
    }
  }

  @Test func `prints what a retry brought`() async throws {
    let busy = MockServer.Response.status(503, headers: [.retryAfter: "0"])
    try await withServer([:]) { server, _ in
      server.answer("/a", with: busy, .text("{}"))
      let result = try await Command.run("fetch", server.url("/a"), "--retries", "1")
      #expect(result.status == 0)
      #expect(result.output == "{}\n")
      #expect(result.error == "")
      #expect(server.requests.count == 2)
    }
  }

  @Test func `ends at once when it is interrupted between two attempts`() async throws {
    let busy = MockServer.Response.status(503, headers: [.retryAfter: "50"])
    try await withServer(["/a": busy]) { server, _ in
      let task = Task {
        try await Command.run("fetch", server.url("/a"), "--retries", "1", cancelSignal: SIGINT)
      }
      try await server.waitForRequests()
      task.cancel()
      let result = try await task.value
      #expect(result.status == 130)
      #expect(server.requests.count == 1)
    }
  }

  @Test func `ends with 130 when it is interrupted`() async throws {
    try await withServer(["/a": .silence]) { server, _ in
      let task = Task { try await Command.run("fetch", server.url("/a"), cancelSignal: SIGINT) }
      try await server.waitForRequests()
      task.cancel()
      let result = try await task.value
      #expect(result.status == 130)
      #expect(result.output == "")
      #expect(result.error == "reactor: interrupted\n")
    }
  }
}
