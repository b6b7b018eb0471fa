import CommandSupport
import Foundation
import ReactorCore
import ReactorLive
import ReactorTesting
import ServerSentEvents
import Synchronization
import Testing
import Wire

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `The changes of reactor proxy` {
  private final class Title: Sendable {
    let text = Mutex("first")
  }

  /// A server whose posts can be written, and which has a resource at the path of the stream.
  private static func server() throws -> MockServer {
    let title = Title()
    return try MockServer { request in
      switch (request.method, request.target) {
      case ("GET", "/events"): return .text("the server's own")
      case ("GET", "/posts/7"):
        return .json(#"{"title": "\#(title.text.withLock(\.self))"}"#, headers: [.cacheControl: "max-age=600"])
      case ("POST", "/posts"):
        return .raw(
          "HTTP/1.1 201 Created\r\nLocation: /posts/7\r\nCache-Group-Invalidation: \"feed\"\r\nContent-Length: 0\r\n\r\n"
        )
      case ("PUT", "/posts/7"):
        title.text.withLock { $0 = String(decoding: request.body, as: UTF8.self) }
        return .status(204)
      default: return .status(409)
      }
    }
  }

  private static func run(
    _ options: [String] = [], _ body: (_ command: RunningCommand, _ proxy: URL) async throws -> Void
  ) async throws {
    let origin = try server()
    defer { origin.stop() }
    let arguments = [
      "proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:\(origin.port)", "--live", "/events",
    ]
    try await RunningCommand.run(arguments + options, signal: SIGTERM) { command in
      try await body(command, try #require(URL(string: try await command.line())))
    }
  }

  private static func ask(
    _ request: String, _ proxy: URL, field: String? = nil, body: String = ""
  ) async throws -> WireMessage {
    let port = try #require(proxy.port)
    let head =
      "\(request) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n" + (field.map { "\($0)\r\n" } ?? "")
    return WireMessage(
      try await WireClient.exchange(head + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)", port: port))
  }

  @Test func `whoever listens is told each successful change, and at the end that it is over`() async throws {
    try await Self.run { command, proxy in
      var events = Backend(baseURL: proxy).events(for: Resource("events")).makeAsyncIterator()
      let hello = try await events.next()
      #expect(hello?.type == "hello")
      #expect(try await Self.ask("DELETE /posts/8", proxy).status == 409)
      #expect(try await Self.ask("GET /posts/7", proxy).status == 200)
      #expect(try await Self.ask("POST /posts?token=s3cret", proxy).status == 409)
      #expect(try await Self.ask("POST /posts", proxy, field: "Change-Id: 5f0c").status == 201)
      let change = try await events.next()
      #expect(change?.type == "change")
      let targets = [
        #"{"url":"/posts","by":"5f0c"}"#, #"{"url":"/posts/7","by":"5f0c"}"#, #"{"group":"feed","by":"5f0c"}"#,
      ]
      #expect(change?.data == #"{"changes":[\#(targets.joined(separator: ","))]}"#)
      command.interrupt()
      let farewell = try await events.next()
      #expect(farewell?.type == "bye")
      let end = try await events.next()
      #expect(end == nil)
      #expect(try await command.ended().status == 0)
    }
  }

  @Test func `a client that prefers to wait is answered once, with what has changed behind its place`() async throws {
    try await Self.run { _, proxy in
      let first = try await Self.ask("GET /events", proxy, field: "Prefer: wait=20")
      #expect(first.body.contains("\"resumed\":false") && first.body.contains("\"wait\":20.0"))
      let start = try #require(first.body.firstRange(of: "\"head\":\"")?.upperBound)
      let place = first.body[start...].prefix { $0 != "\"" }
      #expect(try await Self.ask("PUT /posts/7", proxy, body: "second").status == 204)
      let second = try await Self.ask("GET /events", proxy, field: "Prefer: wait=20\r\nLast-Event-ID: \(place)")
      #expect(second.status == 200 && second.body.contains("\"resumed\":true"))
      #expect(second.body.contains(#"{"changes":[{"url":"/posts/7"}]}"#))
    }
  }

  @Test func `a value that is observed through the proxy is the new one after a change by another client`() async throws
  {
    struct Post: Codable, Equatable, Sendable { var title: String }
    try await Self.run { _, proxy in
      let layer = ModelLayer(baseURL: proxy, extensions: [.live("events")])
      var states = layer.reactor(Post.self).states(for: Resource("posts/7")).makeAsyncIterator()
      var titles: [String] = []
      func follow(until title: String) async {
        while titles.last != title, let state = await states.next() {
          if let next = state.value?.title, next != titles.last { titles.append(next) }
        }
      }
      await follow(until: "first")
      for await status in try #require(layer.live).statuses where status.isLive { break }
      // The fetch that the first connection causes may have the second title.
      for title in ["second", "third"] {
        #expect(try await Self.ask("PUT /posts/7", proxy, body: title).status == 204)
        await follow(until: title)
      }
      #expect(titles == ["first", "second", "third"])
    }
  }

  @Test func `the bytes are those of an event stream, as curl reads them`() async throws {
    try await Self.run(["--cache-status", "edge"]) { command, proxy in
      let curl = URL(filePath: "/usr/bin/curl")
      try await RunningCommand.run(["-sSNi", "\(proxy)/events"], executable: curl) { reader in
        var head: [String] = []
        while head.last != "\r" { head.append(try await reader.line()) }
        let fields = head.map { $0.lowercased() }
        #expect(head.first == "HTTP/1.1 200 OK\r")
        for field in [
          "content-type: text/event-stream", "cache-control: no-store, no-transform", "x-accel-buffering: no",
          "cache-status: edge; detail=live", "transfer-encoding: chunked",
        ] { #expect(fields.contains(field + "\r"), "\(field)") }
        #expect(!fields.contains { $0.hasPrefix("content-length") } && fields.contains { $0.hasPrefix("date: ") })
        #expect(try await reader.line() == "retry: 2000")
        #expect(try await reader.line() == "event: hello")
        let hello = try await reader.line()
        #expect(
          hello.hasPrefix(#"data: {"v":1,"resumed":false,"head":""#) && hello.hasSuffix(#".0","heartbeat":15.0}"#))
        #expect(try await reader.line() == "")
        #expect(try await Self.ask("PUT /posts/7", proxy, body: "second").status == 204)
        #expect(try await reader.line() == "event: change")
        let id = try await reader.line()
        #expect(id.hasPrefix("id: ") && id.hasSuffix(".1"))
        #expect(try await reader.line() == #"data: {"changes":[{"url":"/posts/7"}]}"#)
        #expect(try await reader.line() == "")
        command.interrupt()
        let end = try await reader.ended()
        #expect(end.status == 0 && end.rest == "event: bye\ndata: {}\n\n")
      }
    }
  }

  @Test func `the path is the proxy's, whatever the server has there`() async throws {
    try await Self.run { command, proxy in
      let posted = try await Self.ask("POST /events", proxy)
      #expect(posted.status == 405 && posted["Allow"] == "GET, HEAD")
      let head = try await Self.ask("HEAD /events", proxy)
      #expect(head.status == 200 && head["Content-Type"] == "text/event-stream")
      #expect(try await Self.ask("GET /events/7", proxy).status == 409)
      var events = Backend(baseURL: proxy).events(for: Resource("events")).makeAsyncIterator()
      let hello = try await events.next()
      #expect(hello?.type == "hello")
    }
  }

  @Test func `half of the clients may follow changes, and a further one is told when to come back`() async throws {
    try await Self.run(["--max-connections", "4"]) { _, proxy in
      var streams = [0, 1].map { _ in Backend(baseURL: proxy).events(for: Resource("events")).makeAsyncIterator() }
      for index in streams.indices {
        let hello = try await streams[index].next()
        #expect(hello?.type == "hello")
      }
      let refused = try await Self.ask("GET /events", proxy)
      #expect(refused.status == 503 && refused["Retry-After"] == "10")
      #expect(try await Self.ask("GET /posts/7", proxy).status == 200)
    }
  }
}
