import Foundation
import HTTPCaching
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

@Suite("A change with the new value", .timeLimit(.minutes(1))) struct LiveValueTests {
  /// Runs a test with a post on screen, whose version is "1".
  private static func run(
    _ body: @escaping @Sendable (Newsroom, ModelLayer, Screen, MemoryPersistence) async throws -> Void
  ) async {
    await Simulation.run(seeds: 0..<3) { world in
      let newsroom = Newsroom(world)
      newsroom.tagsResponses.change { $0 = true }
      let disk = MemoryPersistence()
      let layer = newsroom.layer(persistence: disk)
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle(.seconds(10))
      newsroom.requests.change { $0 = [] }
      try await body(newsroom, layer, screen, disk)
      newsroom.end()
    }
  }

  @Test(arguments: [
    #""value":"{\"likes\":2}""#, #""value":{"likes":2}"#, #""merge":"{\"likes\":2}""#,
    #""merge":{"likes":2,"none":null}"#,
  ])
  func `is shown without a request where its earlier version is`(_ value: String) async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.likes.change { $0[1] = 2 }
      newsroom.tell(#"{"url":"posts/1","from":"\"1\"","etag":"\"2\"",\#(value)}"#, at: "a.2")
      try await newsroom.settle()
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      newsroom.likes.change { $0[1] = 3 }
      newsroom.tell(#"{"url":"posts/1","from":"\"2\"","etag":"\"3\"","merge":{"likes":3}}"#, at: "a.3")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 3)
      #expect(newsroom.requests.value.isEmpty)
      // It was saved, too.
      let later = newsroom.layer(persistence: disk)
      let saved = try await later.reactor(Post.self).fetch("posts/1", policy: .cacheOnly).likes
      #expect(saved == 3)
    }
  }

  @Test(arguments: [
    #""from":"\"0\"","etag":"\"2\"","value":{"likes":9}"#, #""from":"\"1\"","etag":"\"2\"","value":{"hearts":9}"#,
    #""from":"\"1\"","etag":"\"2\"","merge":"{""#, #""from":"W/\"1\"","etag":"\"2\"","value":{"likes":9}"#,
    #""etag":"\"2\"","value":{"likes":9}"#, #""from":"\"1\"","value":{"likes":9}"#,
    #""from":"\"1\"","etag":"\"2\"","merge":{"likes":null}"#,
  ])
  func `is asked for if it follows another version, or cannot be read`(_ change: String) async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.likes.change { $0[1] = 2 }
      newsroom.tell(#"{"url":"posts/1",\#(change)}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      #expect(newsroom.requests.value.count == 1)
      #expect(!screen.states.value.contains { $0.value?.likes == 9 })
    }
  }

  @Test func `that lost a race with another change stays stale, and that is asked for`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.likes.change { $0[1] = 3 }
      newsroom.tell(
        #"{"url":"posts/1","from":"\"1\"","etag":"\"2\"","value":{"likes":2}},{"url":"posts/1"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 3)
      #expect(!screen.isStale)
    }
  }

  @Test func `leaves a local value as it is`() async {
    await Self.run { newsroom, layer, screen, disk in
      try await layer.reactor(Post.self).save(Post(likes: 40), for: "posts/1")
      newsroom.tell(#"{"url":"posts/1","from":"\"1\"","etag":"\"2\"","value":{"likes":2}}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 40)
    }
  }

  @Test func `is no answer while a write of it is under way`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.latency.change { $0 = .milliseconds(300) }
      newsroom.beforeAnswer.change { [newsroom] in
        $0 = { _ in
          newsroom.tell(#"{"url":"posts/1","from":"\"1\"","etag":"\"2\"","value":{"likes":2}}"#, at: "a.2")
        }
      }
      try await layer.reactor(Post.self).mutate("posts/1", by: Resource("posts/1", method: .put, body: Data())) {
        $0.likes = 50
      }
      newsroom.beforeAnswer.change { $0 = nil }
      // The draft has never been under a value that the answer had not confirmed.
      #expect(!screen.states.value.suffix(2).contains { $0.value?.likes == 2 && !$0.isStale })
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      #expect(newsroom.requests.value.filter { $0 == "/v1/posts/1" }.count == 2)
    }
  }

  @Test func `that is repeated after a reconnection is a change as any other`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.cut()
      try await newsroom.settle(.seconds(5))
      newsroom.likes.change { $0[1] = 2 }
      newsroom.greet("a.3", resumed: true)
      newsroom.tell(#"{"url":"posts/1","from":"\"1\"","etag":"\"2\"","value":{"likes":2}}"#, at: "a.2")
      newsroom.send("id: a.3\n\n")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(newsroom.requests.value.count == 1)
    }
  }

  @Test func `is saved behind its effects only`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.tell(#"{"url":"posts/1","from":"\"1\"","etag":"\"2\"","value":{"likes":2}}"#, at: "a.2")
      try await newsroom.settle(.seconds(6))
      try await newsroom.leave()
      let later = newsroom.layer(persistence: disk)
      _ = newsroom.watch("posts/1", later)
      try await newsroom.settle()
      #expect(newsroom.opened.value.last == "a.2")
    }
  }

  @Test func `merges as RFC 7396 says`() throws {
    let cases: [(JSONValue, JSONValue, JSONValue)] = [
      (["a": "b"], ["a": "c"], ["a": "c"]), (["a": "b"], ["b": "c"], ["a": "b", "b": "c"]),
      (["a": "b"], ["a": nil], [:]),
      (["a": "b", "b": "c"], ["a": nil], ["b": "c"]), (["a": ["b"]], ["a": "c"], ["a": "c"]),
      (["a": "c"], ["a": ["b"]], ["a": ["b"]]), (["a": ["b": "c"]], ["a": ["b": "d", "c": nil]], ["a": ["b": "d"]]),
      (["a": [["b": "c"]]], ["a": [1]], ["a": [1]]), (["a", "b"], ["c", "d"], ["c", "d"]), (["a": "b"], ["c"], ["c"]),
      (["a": "foo"], nil, nil), (["a": "foo"], "bar", "bar"), (["e": nil], ["a": 1], ["e": nil, "a": 1]),
      ([1, 2], ["a": "b", "c": nil], ["a": "b"]), ([:], ["a": ["bb": ["ccc": nil]]], ["a": ["bb": [:]]]),
    ]
    for (base, patch, expected) in cases { #expect(base.merging(patch) == expected, "\(base) with \(patch)") }
  }
}
