import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import TestSupport
import Testing

extension Newsroom {
  /// Answers a long poll, and ends the response.
  fileprivate func answer(_ head: String, resumed: Bool = true, _ changes: String...) {
    var text =
      "event: hello\ndata: {\"v\":1,\"resumed\":\(resumed),\"head\":\"\(head)\",\"heartbeat\":15,\"wait\":25}\n\n"
    if !changes.isEmpty {
      text += "event: change\nid: \(head)\ndata: {\"changes\":[\(changes.joined(separator: ","))]}\n\n"
    }
    send(text + "id: \(head)\n\n")
    streams.value.last?.finish()
  }

  /// Runs a test whose layer shows the first post, and has changed to long polls at `a.1`.
  fileprivate static func poll(
    _ body: @escaping @Sendable (Newsroom, ModelLayer, Screen) async throws -> Void
  ) async {
    await run { newsroom, layer in
      newsroom.holdsBack.change { $0 = true }
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle(.seconds(23))
      newsroom.answer("a.1", resumed: false)
      try await newsroom.settle(.seconds(5))
      try await body(newsroom, layer, screen)
    }
  }

  /// Answers each poll of a while with nothing new.
  fileprivate func pass(_ time: Duration, at place: String, _ body: () -> Void = {}) async throws {
    let end = world.clock.now.elapsed + time
    while world.clock.now.elapsed < end, waits.value.last != .some(nil) {
      try await settle(.seconds(20))
      answer(place)
      try await settle(.milliseconds(1))
      body()
    }
  }
}

@Suite("The changes of a server behind a proxy that holds responses back", .timeLimit(.minutes(1)))
struct LiveLongPollTests {
  @Test func `a stream that is held back twice becomes long polls, whose changes are shown at once`() async {
    await Newsroom.poll { newsroom, layer, screen in
      // The first answer comes at once, so that the layer knows where it is.
      #expect(newsroom.waits.value == [nil, nil, 0, 25])
      #expect(newsroom.opened.value == ["", "", "", "a.1"])
      #expect(layer.live?.status.isLive == true)
      newsroom.likes.change { $0[1] = 7 }
      newsroom.answer("a.2", #"{"url":"/v1/posts/1"}"#)
      try await newsroom.settle(.milliseconds(20))
      #expect(screen.likes == 7)
      // Others who have waited for this change do not ask again at the same moment.
      try await newsroom.settle(.seconds(2))
      #expect(newsroom.opened.value.last == "a.2")
      // The first one, the gap of the first connection, and the change.
      #expect(newsroom.requests.value.count == 3)
    }
  }

  @Test func `the layer is live while its polls wait, and polls rarely`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.holdsBack.change { $0 = true }
      _ = newsroom.watch("posts/1", layer, polling: .seconds(10))
      try await newsroom.settle(.seconds(23))
      newsroom.answer("a.1", resumed: false)
      try await newsroom.settle(.seconds(5))
      let requests = newsroom.requests.value.count
      try await newsroom.pass(.seconds(200), at: "a.1") { #expect(layer.live?.status.isLive == true) }
      #expect(newsroom.requests.value.count == requests)
      #expect(newsroom.waits.value.dropFirst(3).allSatisfy { $0 == 25 })
    }
  }

  @Test func `a poll that is not answered in time ends the live status, and the streams' own polling goes on`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.holdsBack.change { $0 = true }
      _ = newsroom.watch("posts/1", layer, polling: .seconds(10))
      try await newsroom.settle(.seconds(23))
      newsroom.answer("a.1", resumed: false)
      try await newsroom.settle(.seconds(5))
      let requests = newsroom.requests.value.count
      try await newsroom.settle(.seconds(29))
      #expect(layer.live?.status.isLive == true)
      try await newsroom.settle(.seconds(4))
      #expect(layer.live?.status.isLive == false)
      try await newsroom.settle(.seconds(25))
      #expect(newsroom.requests.value.count > requests)
    }
  }

  @Test func `a stream is tried again after ten minutes, and polls go on where it is still held back`() async {
    await Newsroom.poll { newsroom, layer, screen in
      try await newsroom.pass(.seconds(700), at: "a.1")
      let polls = newsroom.waits.value.count
      #expect(newsroom.waits.value.last == .some(nil))
      #expect((28...36).contains(polls), "\(polls) requests")
      try await newsroom.settle(.seconds(9))
      // No longer than after a lost sign of life.
      #expect(layer.live?.status.isLive == true)
      try await newsroom.settle(.seconds(2))
      #expect(newsroom.waits.value.last == 0)
      newsroom.likes.change { $0[1] = 3 }
      newsroom.answer("a.2", #"{"url":"/v1/posts/1"}"#)
      try await newsroom.settle(.seconds(5))
      #expect(screen.likes == 3)
      // Now the proxy is gone.
      try await newsroom.pass(.seconds(700), at: "a.2")
      newsroom.holdsBack.change { $0 = false }
      try await newsroom.settle(.seconds(11))
      newsroom.answer("a.2")
      try await newsroom.settle(.seconds(5))
      try await newsroom.pass(.seconds(700), at: "a.2")
      let opened = newsroom.opened.value.count
      newsroom.greet("a.2", resumed: true)
      for number in 3..<90 {
        try await newsroom.settle(.seconds(10))
        newsroom.send("id: a.\(number)\n\n")
      }
      #expect(newsroom.opened.value.count == opened)
      #expect(newsroom.opened.value.last == "a.2")
    }
  }

  @Test func `another network is tried with a stream`() async {
    await Newsroom.poll { newsroom, layer, _ in
      newsroom.world.reachability.set(false)
      newsroom.cut()
      try await newsroom.settle(.seconds(5))
      newsroom.holdsBack.change { $0 = false }
      newsroom.world.reachability.set(true)
      try await newsroom.settle()
      #expect(newsroom.waits.value.last == .some(nil))
      newsroom.greet("a.1", resumed: true)
      try await newsroom.settle()
      #expect(layer.live?.status.isLive == true)
    }
  }

  @Test func `a lost history is a gap in an answer, too, and a cut answer is asked for again`() async {
    await Newsroom.poll { newsroom, layer, screen in
      newsroom.likes.change { $0[1] = 3 }
      newsroom.answer("b.9", resumed: false)
      try await newsroom.settle(.seconds(3))
      #expect(screen.likes == 3)
      #expect(newsroom.opened.value.last == "b.9")
      newsroom.cut()
      try await newsroom.settle(.milliseconds(1))
      #expect(layer.live?.status.isLive == false)
      try await newsroom.settle(.seconds(5))
      #expect(newsroom.opened.value.suffix(2) == ["b.9", "b.9"])
      #expect(newsroom.waits.value.last == 25)
    }
  }

  @Test func `an answer does not bring its values, which may be older than what was fetched meanwhile`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.tagsResponses.change { $0 = true }
      newsroom.holdsBack.change { $0 = true }
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle(.seconds(23))
      newsroom.answer("a.1", resumed: false)
      try await newsroom.settle(.seconds(5))
      let reads = newsroom.reads(of: "/v1/posts/1")
      newsroom.likes.change { $0[1] = 2 }
      newsroom.answer(
        "a.2", #"{"url":"/v1/posts/1","from":"\"1\"","etag":"\"2\"","value":"{\"likes\":2}"}"#)
      try await newsroom.settle()
      #expect(screen.likes == 2)
      #expect(newsroom.reads(of: "/v1/posts/1") == reads + 1)
    }
  }

  @Test func `in the background nothing is polled, and the return asks at once for what was missed`() async {
    await Newsroom.poll { newsroom, layer, screen in
      newsroom.activity.leave()
      try await newsroom.settle(.seconds(6))
      #expect(layer.live?.status.description == "off: the app is in the background")
      let opened = newsroom.opened.value.count
      try await newsroom.settle(.seconds(900))
      #expect(newsroom.opened.value.count == opened)
      newsroom.likes.change { $0[1] = 3 }
      newsroom.activity.becomeActive()
      try await newsroom.settle(.milliseconds(1))
      #expect(newsroom.opened.value.last == "a.1" && newsroom.waits.value.last == 25)
      newsroom.answer("a.2", #"{"url":"/v1/posts/1"}"#)
      try await newsroom.settle(.milliseconds(20))
      #expect(screen.likes == 3)
      try await newsroom.settle(.seconds(3))
      // The ten minutes are over.
      #expect(newsroom.waits.value.last == .some(nil))
    }
  }

  @Test func `a sign-out ends the poll, and what it brings is not applied`() async {
    await Newsroom.poll { newsroom, layer, _ in
      try await layer.signOut()
      let requests = newsroom.requests.value.count
      newsroom.streams.value.first?.yield(Array("event: bye\ndata: {}\n\n".utf8)[...])
      try await newsroom.settle()
      #expect(newsroom.opened.value.last == "")
      #expect(newsroom.requests.value.count == requests)
    }
  }

  @Test func `the place is saved every five seconds, and not with each answer`() async {
    await Newsroom.run { newsroom, _ in
      let disk = FaultyPersistence(MemoryPersistence())
      let layer = newsroom.layer(persistence: disk)
      newsroom.holdsBack.change { $0 = true }
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle(.seconds(23))
      newsroom.answer("a.1", resumed: false)
      try await newsroom.settle(.seconds(7))
      let before = disk.calls(.save)
      for number in 2..<12 {
        newsroom.answer("a.\(number)", #"{"url":"/v1/posts/2"}"#)
        try await newsroom.settle(.seconds(2))
      }
      #expect(layer.live?.lastEventID == "a.11")
      #expect((3...5).contains(disk.calls(.save) - before))
    }
  }
}
