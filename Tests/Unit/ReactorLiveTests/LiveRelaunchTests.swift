import Foundation
import HTTPCaching
import ReactorCore
import ReactorLive
import ReactorTesting
import TestSupport
import Testing

@Suite("The changes of a server, over launches of the program", .timeLimit(.minutes(1)))
struct LiveRelaunchTests {
  /// Runs a first process, whose screen shows the first post and which is live at `a.4`, and a
  /// second one with the same disk.
  private func run(
    _ first: @escaping @Sendable (Newsroom, ModelLayer) async throws -> Void,
    then second: @escaping @Sendable (Newsroom, ModelLayer) async throws -> Void
  ) async {
    await Newsroom.run { newsroom, _ in
      let disk = MemoryPersistence()
      func launch(_ body: @Sendable (Newsroom, ModelLayer) async throws -> Void) async throws {
        try await body(newsroom, newsroom.layer(persistence: disk))
        try await newsroom.leave()
      }
      try await launch { newsroom, layer in
        _ = newsroom.watch("posts/1", layer)
        try await newsroom.settle()
        newsroom.greet("a.4")
        try await newsroom.settle()
        try await first(newsroom, layer)
      }
      try await launch(second)
    }
  }

  @Test func `a relaunch continues at its place, and asks for nothing that it has`() async {
    await run { newsroom, _ in
      newsroom.tell(#"{"url":"/v1/posts/1"}"#, at: "a.5")
      try await newsroom.settle(.seconds(6))
      // The first one, the gap of the first connection, and the change.
      #expect(newsroom.requests.value.count == 3)
    } then: { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      #expect(screen.likes == 1)
      #expect(newsroom.opened.value == ["", "a.5"])
      newsroom.greet("a.5", resumed: true)
      try await newsroom.settle(.seconds(30))
      #expect(layer.live?.status.isLive == true)
      #expect(newsroom.requests.value.count == 3)
    }
  }

  @Test(arguments: [#"{"url":"/v1/posts/2"}"#, #"{"under":"/v1/posts"}"#, #"{"group":"likes"}"#, #"{"all":true}"#])
  func `what had changed when the process ended is stale in the next one, before the stream is open`(
    _ change: String
  ) async {
    await run { newsroom, layer in
      newsroom.groups.change { $0 = "\"likes\"" }
      let posts = layer.reactor(Post.self)
      _ = try await posts.fetch("posts/0")
      _ = try await posts.fetch("posts/2")
      newsroom.likes.change { $0[2] = 9 }
      newsroom.tell(change, at: "a.5")
      try await newsroom.settle(.seconds(6))
      #expect(newsroom.requests.value.filter { $0 == "/v1/posts/2" }.count == 1)
    } then: { newsroom, layer in
      newsroom.refusal.change { $0 = .timedOut }
      let likes = try await layer.reactor(Post.self).fetch("posts/2").likes
      #expect(likes == 9)
      _ = try await layer.reactor(Post.self).fetch("posts/0")
      let others = newsroom.requests.value.filter { $0 == "/v1/posts/0" }.count
      #expect(others == (change.contains("posts/2") ? 1 : 2))
    }
  }

  @Test func `a change of the last five seconds is repeated in the next process, and not lost`() async {
    await run { newsroom, _ in
      try await newsroom.settle(.seconds(6))
      newsroom.likes.change { $0[2] = 9 }
      newsroom.tell(#"{"url":"/v1/posts/2"}"#, at: "a.5")
      try await newsroom.settle()
    } then: { newsroom, layer in
      let screen = newsroom.watch("posts/2", layer)
      try await newsroom.settle()
      #expect(newsroom.opened.value == ["", "a.4"])
      newsroom.likes.change { $0[2] = 10 }
      newsroom.greet("a.5", resumed: true)
      newsroom.tell(#"{"url":"/v1/posts/2"}"#, at: "a.5")
      try await newsroom.settle()
      #expect(screen.likes == 10)
    }
  }

  @Test func `a removal of everything removes the place, also for the process after it`() async {
    await run { newsroom, layer in
      newsroom.tell(#"{"url":"/v1/posts/2"}"#, at: "a.5")
      // A save is due while everything is being removed.
      try await newsroom.settle(.seconds(3.999))
      try await layer.removeAll()
      try await newsroom.settle(.seconds(6))
      #expect(newsroom.opened.value == ["", ""])
    } then: { newsroom, layer in
      _ = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      #expect(newsroom.opened.value == ["", "", ""])
    }
  }

  @Test func `a place that cannot be read makes everything stale`() async throws {
    let place = RecordKey(method: .get, url: "https://api.example.com/v1/events").place
    await Newsroom.run { newsroom, _ in
      let disk = MemoryPersistence()
      let first = newsroom.layer(persistence: disk)
      _ = try await first.reactor(Post.self).fetch("posts/2")
      let head = Record.Head(identity: place.identity, status: .ok, fields: [:], requestedAt: .now, receivedAt: .now)
      try await disk.save(Record(head: head, body: Data("{".utf8)), for: place)
      newsroom.likes.change { $0[2] = 9 }
      try await newsroom.settle()
      let likes = try await newsroom.layer(persistence: disk).reactor(Post.self).fetch("posts/2").likes
      #expect(likes == 9)
    }
  }
}
