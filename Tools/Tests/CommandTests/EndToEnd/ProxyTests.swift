import CommandSupport
import Foundation
import ReactorTesting
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `reactor proxy` {
  private static let fresh = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 3\r\n\r\none"

  private func request(_ path: String, fields: [String] = [], port: Int) async throws -> WireMessage {
    let lines = ["GET \(path) HTTP/1.1", "Host: localhost:\(port)", "Connection: close"] + fields
    return WireMessage(try await WireClient.exchange(lines.joined(separator: "\r\n") + "\r\n\r\n", port: port))
  }

  private func port(_ line: String) throws -> Int { try #require(URL(string: line)?.port) }

  @Test(arguments: [SIGTERM, SIGINT]) func `tells where it listens, and ends with 0 on a signal`(signal: Int32)
    async throws
  {
    let origin = try MockServer { _ in .raw(Self.fresh) }
    let arguments = ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--trace"]
    try await RunningCommand.run(arguments, signal: signal) { command in
      let port = try port(try await command.line())
      #expect(try await request("/a?token=s3cret", fields: ["Authorization: s3cret"], port: port).body == "one")
      #expect(try await request("/a", port: port).body == "one")
      #expect(try await request("/a", port: port)["Age"] != nil)
      // It is idle, and does not keep the process.
      let idle = try await WireClient.connect(port: port)
      let end = try await command.end()
      #expect(try await idle.rest() == "")
      #expect(end.status == 0)
      #expect(end.rest == "")
      let lines = end.error.split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines[0].hasPrefix("GET /a?token=hmac-") && lines[0].contains(" 200 network, 3 bytes, "))
      #expect(lines[2].hasPrefix("GET /a 200 stored, age ") && lines[2].hasSuffix(" ms"))
      #expect(!end.error.contains("s3cret"))
    }
    origin.stop()
  }

  /// Letters and digits, which no encoding changes, in every spelling that a secret may have.
  @Test(arguments: ["store", "store.sqlite"]) func `shows no secret in its store, its trace or the store's listing`(
    name: String
  ) async throws {
    let script: MockServer.Handler = { request in
      let target = request.target
      return .raw(
        "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Location: \(target)\r\nSet-Cookie: id=c4nary\r\n"
          + "Link: <\(target)>; rel=next\r\nContent-Length: 2\r\n\r\nok")
    }
    let queries = [
      "access_token=c4nary", "TOKEN=c4nary", "a=1;token=c4nary", "token[]=c4nary", "%74oken=c4nary",
      "next=https://b/?access_token=c4nary", "next=https%3A%2F%2Fu%3Ac4nary%40b%2F%3Ftoken%3Dc4nary",
    ]
    let origin = try MockServer(handler: script)
    try await TemporaryDirectory.use { directory in
      let store = directory.appending(path: name).path(percentEncoded: false)
      let arguments = [
        "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--trace", "--store",
        store,
      ]
      var told = ""
      try await RunningCommand.run(arguments, signal: SIGTERM) { command in
        let port = try port(try await command.line())
        for query in queries {
          for _ in 0..<2 {
            let answer = try await request(
              "/me?\(query)", fields: ["Authorization: c4nary", "Cookie: id=c4nary"], port: port)
            #expect(answer.body == "ok" && answer["Content-Location"] == "/me?\(query)")
          }
        }
        told += try await command.end().error
      }
      #expect(origin.requests.count == queries.count)
      for arguments in [["list"], ["list", "--json"], ["verify"]] {
        told += try await Command.run(["store"] + arguments + ["--store", store]).output
      }
      #expect(told.contains("hmac-") && told.contains(" stored, age "))
      #expect(!told.contains("c4nary"), "\(told)")
      let paths =
        FileManager.default.enumerator(atPath: directory.path(percentEncoded: false))?
        .compactMap { $0 as? String } ?? []
      #expect(!paths.isEmpty)
      for path in paths {
        guard
          let data = FileManager.default.contents(atPath: directory.appending(path: path).path(percentEncoded: false))
        else { continue }
        #expect(data.firstRange(of: Data("c4nary".utf8)) == nil, "\(path)")
      }
    }
    origin.stop()
  }

  @Test func `lets an exchange finish when it is told to end`() async throws {
    let gate = Gate()
    let origin = try MockServer { _ in .raw(Self.fresh).held(at: gate) }
    let arguments = ["proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)"]
    try await RunningCommand.run(arguments, signal: SIGTERM) { command in
      let port = try port(try await command.line())
      let idle = try await WireClient.connect(port: port)
      async let answer = request("/a", port: port)
      try await origin.waitForRequests()
      command.interrupt()
      // Its connection is closed once the signal has come.
      #expect(try await idle.rest() == "")
      gate.open()
      let body = try await answer.body
      #expect(body == "one")
      #expect(try await command.ended().status == 0)
    }
    origin.stop()
  }

  @Test(arguments: ["store", "store.sqlite"]) func `answers from the store when it runs again`(name: String)
    async throws
  {
    let origin = try MockServer { _ in .raw(Self.fresh) }
    try await TemporaryDirectory.use { directory in
      let arguments = [
        "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--store",
        directory.appending(path: name).path(percentEncoded: false),
      ]
      for _ in 0..<2 {
        try await RunningCommand.run(arguments, signal: SIGTERM) { command in
          let port = try port(try await command.line())
          #expect(try await request("/a", port: port).body == "one")
          #expect(try await command.end().status == 0)
        }
      }
      #expect(origin.requests.count == 1)
    }
    origin.stop()
  }

  @Test(arguments: [
    (["--listen", "8080"], "host and a port"), (["--listen", "127.0.0.1:"], "host and a port"),
    (["--listen", "127.0.0.1:x"], "host and a port"), (["--listen", ":80"], "host and a port"),
    (["--listen", "127.0.0.1:65536"], "host and a port"), (["--listen", "::1:80"], "host and a port"),
    (["--upstream", "ftp://h/"], "http or https"), (["--upstream", "h:80"], "http or https"),
    (["--upstream", "http://"], "http or https"), (["--upstream", "http://h/?q"], "remove the query"),
    (["--upstream", "http://u:p@h/"], "credentials in the URL"), (["--store", ""], "give the name of a directory"),
    (["--fast"], "--fast"),
    (["--allow-host", "h:80"], "without a port"), (["--allow-host", "h/"], "without a port"),
  ])
  func `refuses what it cannot understand`(arguments: [String], words: String) async throws {
    var all = ["proxy"] + arguments
    if !arguments.contains("--listen") { all += ["--listen", "127.0.0.1:0"] }
    if !arguments.contains("--upstream") { all += ["--upstream", "http://127.0.0.1:1"] }
    let result = try await Command.run(all)
    #expect(result.status == 64)
    #expect(result.error.lowercased().contains(words.lowercased()))
    #expect(result.output == "")
  }

  @Test func `says that an address is taken`() async throws {
    let origin = try MockServer { _ in .close }
    let result = try await Command.run(
      "proxy", "--listen", "127.0.0.1:\(origin.port)", "--upstream", "http://127.0.0.1:1")
    #expect(result.status == 69)
    #expect(result.error.contains("cannot listen on 127.0.0.1:\(origin.port): Address already in use; use another"))
    origin.stop()
  }

  @Test(arguments: [
    ("http://h", "h", 80, "h", ""), ("https://H:8443/a/b/", "H", 8443, "H:8443", "/a/b"),
    ("http://[::1]:81/", "::1", 81, "[::1]:81", ""),
  ])
  func `takes its server apart`(url: String, host: String, port: Int, authority: String, path: String) throws {
    let upstream = try UpstreamArgument.parse(url)
    #expect(upstream.host == host && upstream.port == port)
    #expect(upstream.authority == authority && upstream.basePath == path)
    #expect(upstream.isSecure == url.hasPrefix("https"))
    #expect(try ListenArgument.parse("[::1]:0").text == "[::1]:0")
  }
}
