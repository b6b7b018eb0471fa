import Foundation
import HTTPTypes
import ReactorCore
import ReactorTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct `A cassette player` {
  private func text(_ answer: (HTTPResponse, Data)) -> String { String(decoding: answer.1, as: UTF8.self) }

  @Test func `a cassette player answers a request with what was recorded for it, in any order`() async throws {
    let player = CassettePlayer(.of(["/a": "1", "/b": "2", "/a?x=1": "3"]))
    #expect(try await text(player.ask("/a?x=1")) == "3")
    #expect(try await text(player.ask("/b")) == "2")
    #expect(player.unplayed == ["GET https://api.test/a"])
    #expect(try await text(player.ask("/a")) == "1")
    #expect(player.unplayed.isEmpty)
  }

  @Test func `a cassette player plays one request's answers in their order, each once`() async throws {
    let player = CassettePlayer(.of(["/a": "1", "/a": "2"]))
    #expect(try await [text(player.ask("/a")), text(player.ask("/a"))] == ["1", "2"])
    await #expect(throws: CassetteError.exhausted(request: "GET https://api.test/a", played: 2)) {
      try await player.ask("/a")
    }
  }

  @Test func `a player in order takes only the next exchange`() async throws {
    let player = CassettePlayer(.of(["/a": "1", "/b": "2"]), matching: .inOrder)
    let error = await #expect(throws: CassetteError.self) { try await player.ask("/b") }
    #expect(
      error
        == .unmatched(
          request: "GET https://api.test/b", exchange: 1,
          difference: "  GET\n- https://api.test/a\n+ https://api.test/b"))
    #expect(try await text(player.ask("/a")) == "1")
    #expect(try await text(player.ask("/b")) == "2")
    let end = await #expect(throws: CassetteError.self) { try await player.ask("/b") }
    #expect(end == .exhausted(request: "GET https://api.test/b", played: 2))
    #expect(end.map { "\($0)".contains("exhausted") } == true)
  }

  @Test func `a cassette player shows how a request differs from the nearest one`() async throws {
    var cassette = Cassette.of(["/far/away?p=1": "1"])
    cassette.exchanges.append(
      Cassette.Exchange(
        request: Cassette.Request(
          method: .post, url: "https://api.test/a?p=1&q=2", fields: [.accept: "text/html", .date: "now"],
          body: Data(#"{"b": 1, "a": [true]}"#.utf8)), outcome: .failure("lost")))
    let player = CassettePlayer(cassette, fields: [.accept])
    let error = await #expect(throws: CassetteError.self) {
      try await player.ask("/a?p=1&q=3", .post, fields: [.accept: "text/plain"], body: #"{"a": [true], "b": 2}"#)
    }
    #expect(
      error.map { "\($0)" } == """
        nothing was recorded for POST https://api.test/a; record the cassette again, or send the recorded request. Exchange 2 comes closest:
          POST
          https://api.test/a
          ?p=1
        - ?q=2
        - accept: text/html
        + ?q=3
        + accept: text/plain
          {
            "a" : [
              true
            ],
        -   "b" : 1
        +   "b" : 2
          }
        """)
    #expect(player.unplayed.count == 2)
  }

  @Test func `a cassette player compares bodies of JSON by value, others by their bytes`() async throws {
    func player(_ body: String) -> CassettePlayer {
      CassettePlayer(
        Cassette(exchanges: [
          Cassette.Exchange(
            request: Cassette.Request(method: .post, url: "https://api.test/a", body: Data(body.utf8)),
            outcome: .response(Cassette.Response(status: 204)))
        ]))
    }
    #expect(try await player(#"{"a":1,"b":2}"#).ask("/a", .post, body: #"{ "b": 2, "a": 1 }"#).0.status == .noContent)
    #expect(try await player("a=1").ask("/a", .post, body: "a=1").0.status == .noContent)
    for (recorded, asked) in [("a=1", "a=2"), ("[1]", "[2]"), ("[1, 2]", "[2, 1]"), ("", "{}")] {
      await #expect(throws: CassetteError.self) { try await player(recorded).ask("/a", .post, body: asked) }
    }
  }

  @Test func `a player ignores fields except the ones to match`() async throws {
    var cassette = Cassette.of(["/a": "1", "/a": "2"])
    cassette.exchanges[0].request.fields = [.accept: "text/html"]
    cassette.exchanges[1].request.fields = [.accept: "text/plain", .date: "now"]
    #expect(try await text(CassettePlayer(cassette).ask("/a", fields: [.accept: "none"])) == "1")
    let player = CassettePlayer(cassette, fields: [.accept])
    #expect(try await text(player.ask("/a", fields: [.accept: "text/plain"])) == "2")
  }

  @Test func `a player answers a request with another secret, or without one`() async throws {
    let file = CassetteFile()
    let transport = ScriptedTransport { _, _ in .json("1") }
    let recorder = CassetteRecorder(transport, to: file.url)
    _ = try await recorder.ask("/a?access_token=mine", fields: [.authorization: "Bearer mine"])
    let player = try CassettePlayer(contentsOf: file.url, fields: [.authorization])
    let (response, body) = try await player.ask("/a?access_token=yours", fields: [.authorization: "Bearer yours"])
    #expect(response.status == .ok && response.headerFields[.contentType] == "application/json")
    #expect(body == Data("1".utf8))
  }

  @Test func `a cassette player fails as the transport did`() async throws {
    let request = Cassette.Request(url: "https://api.test/a")
    let player = CassettePlayer(
      Cassette(exchanges: [Cassette.Exchange(request: request, outcome: .failure("network: lost"))]))
    await #expect(throws: TransportError.connectionFailed("network: lost")) { try await player.ask("/a") }
  }

  @Test func `a cassette player says of an empty cassette that it is exhausted`() async {
    for matching in [CassettePlayer.Matching.inOrder, .byRequest] {
      let player = CassettePlayer(Cassette(), matching: matching)
      await #expect(throws: CassetteError.exhausted(request: "GET https://api.test/a", played: 0)) {
        try await player.ask("/a")
      }
    }
  }

  @Test func `a cassette player gives each exchange to one of many at once`() async throws {
    let cassette = Cassette(
      exchanges: (0..<100).map { number in
        Cassette.Exchange(
          request: Cassette.Request(url: "https://api.test/a"),
          outcome: .response(Cassette.Response(status: 200, body: Data("\(number)".utf8))))
      })
    let player = CassettePlayer(cassette)
    let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<100 { group.addTask { try await player.ask("/a").1 } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(bodies.count == 100 && player.unplayed.isEmpty)
  }

  @Test func `a cassette player reports progress, and is cancelled like a real one`() async throws {
    let player = CassettePlayer(.of(["/a": "123"]))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await player.ask("/a")
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let seen = Mutex<[TransferProgress]>([])
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.test", path: "/a")
    _ = try await player.send(request, body: nil) { progress in seen.withLock { $0.append(progress) } }
    #expect(seen.withLock { $0.last } == TransferProgress(received: 3, expected: 3))
  }

  @Test func `a cassette player answers a difference of long bodies in part`() async {
    let body = Data("[\((0..<1_000).map(String.init).joined(separator: ","))]".utf8)
    let exchange = Cassette.Exchange(
      request: Cassette.Request(method: .post, url: "https://api.test/a", body: body), outcome: .failure(""))
    let player = CassettePlayer(Cassette(exchanges: Array(repeating: exchange, count: 3)))
    let error = await #expect(throws: CassetteError.self) { try await player.ask("/a", .post, body: "[2]") }
    guard case .unmatched(_, 1, let difference) = error else {
      Issue.record("unexpected: \(String(describing: error))" as Comment)
      return
    }
    #expect(difference.hasSuffix("…"))
  }

  @Test func `a cassette player records what is missing, and plays what is there`() async throws {
    let file = CassetteFile()
    let transport = ScriptedTransport { _, _ in .json("1") }
    #expect(throws: CassetteError.self) { try CassetteTransport(file.url, over: transport, mode: .play) }
    _ = try await CassetteTransport(file.url, over: transport).ask("/a")
    #expect(transport.requestCount == 1)
    let played = try CassetteTransport(file.url, over: transport)
    #expect(try await text(played.ask("/a")) == "1")
    #expect(transport.requestCount == 1)
    _ = try await CassetteTransport(file.url, over: transport, mode: .record).ask("/b")
    #expect(transport.requestCount == 2)
    #expect(try Cassette(contentsOf: file.url).exchanges.map(\.request.url) == ["https://api.test/b"])
  }
}
