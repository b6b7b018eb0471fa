import Foundation
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import TestSupport
import Testing

@Suite("A change with its entity tag", .timeLimit(.minutes(1))) struct LiveReplicaTests {
  /// Shows a post of a server whose responses have tags.
  private static func begin(_ newsroom: Newsroom, _ layer: ModelLayer) async throws -> Screen {
    newsroom.tagsResponses.change { $0 = true }
    let screen = newsroom.watch("posts/1", layer)
    try await newsroom.settle()
    newsroom.greet()
    try await newsroom.settle()
    return screen
  }

  @Test func `asks nothing if the version is shown already`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      let requests = newsroom.requests.value.count
      newsroom.tell(#"{"url":"posts/1","etag":"\"1\""}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(newsroom.requests.value.count == requests)
      #expect(!screen.isStale)
    }
  }

  @Test func `asks again while a replica answers with the version from before it, and then is fresh`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      let requests = newsroom.requests.value.count
      newsroom.replica.change { $0 = 1 }
      newsroom.likes.change { $0[1] = 2 }
      newsroom.tell(#"{"url":"posts/1","etag":"\"2\""}"#, at: "a.2")
      try await newsroom.settle(.milliseconds(200))
      #expect(newsroom.requests.value.count == requests + 1)
      #expect(screen.isStale)
      try await newsroom.settle(.milliseconds(200))
      #expect(newsroom.requests.value.count == requests + 2)
      #expect(screen.isStale)
      newsroom.replica.change { $0 = nil }
      try await newsroom.settle(.seconds(2))
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      #expect(newsroom.requests.value.count == requests + 3)
    }
  }

  @Test func `asks a replica four times, and leaves the value stale until the next change`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      let requests = newsroom.requests.value.count
      let recorder = EventRecorder(layer)
      newsroom.replica.change { $0 = 1 }
      newsroom.tell(#"{"url":"posts/1","etag":"\"2\""}"#, at: "a.2")
      try await newsroom.settle(.seconds(20))
      #expect(newsroom.requests.value.count == requests + 4)
      #expect(screen.isStale)
      #expect(recorder.names.contains(.replicaLagged))
      #expect(layer.live?.report(since: 0).counts.lags == 4)
      newsroom.replica.change { $0 = nil }
      newsroom.likes.change { $0[1] = 3 }
      newsroom.tell(#"{"url":"posts/1","etag":"\"3\""}"#, at: "a.3")
      try await newsroom.settle()
      #expect(screen.likes == 3)
      #expect(!screen.isStale)
    }
  }

  @Test(arguments: [
    // A version that the layer had before, and a version that it has never had.
    (1, #"{"url":"posts/1","etag":"\"3\""}"#),
    (4, #"{"url":"posts/1","from":"\"1\"","etag":"\"3\"","merge":{"likes":3}}"#),
  ])
  func `that is late lets no replica bring back a version from before it`(_ first: Int, _ late: String) async {
    await Newsroom.run { newsroom, layer in
      newsroom.likes.change { $0[1] = first }
      let screen = try await Self.begin(newsroom, layer)
      newsroom.likes.change { $0[1] = 4 }
      _ = try await layer.reactor(Post.self).fetch("posts/1", policy: .networkOnly)
      newsroom.replica.change { $0 = 1 }
      newsroom.tell(late, at: "a.2")
      newsroom.tell(#"{"url":"posts/1","etag":"\"4\""}"#, at: "a.3")
      try await newsroom.settle(.milliseconds(200))
      #expect(screen.isStale)
      newsroom.replica.change { $0 = nil }
      try await newsroom.settle(.seconds(10))
      #expect(screen.likes == 4)
      #expect(!screen.isStale)
    }
  }

  @Test func `of one language says nothing of the version in another`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.hasLanguages.change { $0 = true }
      newsroom.likes.change { $0 = [0, 1, 8] }
      let screen = try await Self.begin(newsroom, layer)
      screen.task.cancel()
      let (english, german) = (Resource("posts/1"), Resource("posts/1", headers: [.acceptLanguage: "de"]))
      let posts = layer.reactor(Post.self)
      for post in [english, german] { _ = try await posts.fetch(post, policy: .networkOnly) }
      newsroom.likes.change { $0[2] = 9 }
      newsroom.tell(#"{"url":"posts/1","etag":"\"9\""}"#, at: "a.2")
      try await newsroom.settle()
      _ = try await posts.fetch(english, policy: .networkOnly)
      let requests = newsroom.requests.value.count
      _ = try await posts.fetch(english)
      #expect(newsroom.requests.value.count == requests)
    }
  }

  @Test func `has no version of the user who was signed in before`() async {
    await Newsroom.run { newsroom, layer in
      _ = try await Self.begin(newsroom, layer)
      newsroom.likes.change { $0[1] = 2 }
      _ = try await layer.reactor(Post.self).fetch("posts/1", policy: .networkOnly)
      try await layer.removeAll()
      newsroom.likes.change { $0[1] = 4 }
      let post = Resource("posts/1")
      _ = try await layer.reactor(Post.self).fetch(post, policy: .networkOnly)
      // What the user before had is current for this one. The next event says so, and is late.
      newsroom.likes.change { $0[1] = 1 }
      layer.layer.mark(
        ToldChange(
          KeySet(urls: ["https://api.example.com/v1/posts/1"]), tags: ["https://api.example.com/v1/posts/1": "\"5\""]))
      _ = try await layer.reactor(Post.self).fetch(post, policy: .networkOnly)
      let requests = newsroom.requests.value.count
      _ = try await layer.reactor(Post.self).fetch(post)
      #expect(newsroom.requests.value.count == requests)
    }
  }

  @Test func `accepts a version that nobody has told`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      let requests = newsroom.requests.value.count
      newsroom.likes.change { $0[1] = 7 }
      newsroom.tell(#"{"url":"posts/1","etag":"\"2\""}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 7)
      #expect(!screen.isStale)
      #expect(newsroom.requests.value.count == requests + 1)
    }
  }

  @Test func `that is late is no reason to call the newer version stale for long`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.likes.change { $0[1] = 3 }
      let screen = try await Self.begin(newsroom, layer)
      newsroom.tell(#"{"url":"posts/1","etag":"\"2\""}"#, at: "a.2")
      try await newsroom.settle(.milliseconds(50))
      newsroom.tell(#"{"url":"posts/1","etag":"\"3\""}"#, at: "a.3")
      try await newsroom.settle()
      #expect(screen.likes == 3)
      #expect(!screen.isStale)
    }
  }

  @Test func `published in the wrong order does not hide the other`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      newsroom.likes.change { $0[1] = 2 }
      // The version that is shown is told last, in one piece with the version that is current.
      newsroom.send(
        #"event: change\nid: a.2\ndata: {"changes":[{"url":"posts/1","etag":"\"2\""}]}\n\n"#.unescaped
          + #"event: change\nid: a.3\ndata: {"changes":[{"url":"posts/1","etag":"\"1\""}]}\n\n"#.unescaped)
      try await newsroom.settle()
      #expect(screen.likes == 2)
    }
  }
}

extension String {
  fileprivate var unescaped: String { replacingOccurrences(of: #"\n"#, with: "\n") }
}
