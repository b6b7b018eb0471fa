import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorTesting
import ServerSentEvents
import TestSupport
import Testing

@Suite("A removal that the server tells", .timeLimit(.minutes(1))) struct LiveGoneTests {
  /// Runs a test with a post on screen.
  private static func run(
    _ mapping: LiveMapping = .changes,
    _ body: @escaping @Sendable (Newsroom, ModelLayer, Screen, MemoryPersistence) async throws -> Void
  ) async {
    await Simulation.run(seeds: 0..<3) { world in
      let newsroom = Newsroom(world)
      let disk = MemoryPersistence()
      let layer = newsroom.layer(mapping, persistence: disk)
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle(.seconds(10))
      newsroom.requests.change { $0 = [] }
      try await body(newsroom, layer, screen, disk)
      newsroom.end()
    }
  }

  @Test func `takes the value off the screen and the disk without a request, as after a 410`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.tell(#"{"url":"posts/1","gone":true}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      let last = screen.states.value.last
      #expect(last?.value == nil)
      #expect(last?.error?.isGone == true)
      #expect(newsroom.requests.value.isEmpty)
      let later = newsroom.layer(persistence: disk)
      await #expect(throws: ReactorError.self) {
        try await later.reactor(Post.self).fetch("posts/1", policy: .cacheOnly)
      }
    }
  }

  @Test func `is over with the next change of the resource`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.tell(#"{"url":"posts/1","gone":true}"#, at: "a.2")
      try await newsroom.settle()
      newsroom.likes.change { $0[1] = 5 }
      newsroom.tell(#"{"url":"posts/1"}"#, at: "a.3")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 5)
      #expect(newsroom.requests.value.count == 1)
    }
  }

  @Test func `that is repeated after a reconnection is a question, since the resource may be back`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.cut()
      try await newsroom.settle(.seconds(10))
      newsroom.likes.change { $0[1] = 4 }
      newsroom.greet("a.3", resumed: true)
      newsroom.tell(#"{"url":"posts/1","gone":true}"#, at: "a.2")
      newsroom.tell(#"{"url":"posts/2"}"#, at: "a.3")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 4)
      #expect(!screen.states.value.contains { $0.error?.isGone == true })
      #expect(newsroom.requests.value == ["/v1/posts/1"])
    }
  }

  @Test func `beside a request that is under way is decided by the server`() async {
    await Self.run { newsroom, layer, screen, disk in
      newsroom.latency.change { $0 = .seconds(2) }
      newsroom.tell(#"{"url":"posts/1"}"#, at: "a.2")
      try await newsroom.settle(.milliseconds(500))
      newsroom.likes.change { $0[1] = 6 }
      newsroom.tell(#"{"url":"posts/1","gone":true}"#, at: "a.3")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 6)
      #expect(newsroom.requests.value.count == 2)
    }
  }

  @Test func `keeps a value that the program has saved`() async {
    await Self.run { newsroom, layer, screen, disk in
      try await layer.reactor(Post.self).save(Post(likes: 70), for: "posts/1")
      newsroom.tell(#"{"url":"posts/1","gone":true}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 70)
    }
  }

  @Test func `keeps a value on disk that the program has saved, although it is not in memory`() async {
    await Self.run { newsroom, layer, screen, disk in
      try await newsroom.layer(persistence: disk).reactor(Post.self).save(Post(likes: 70), for: "posts/2")
      newsroom.tell(#"{"url":"posts/2","gone":true}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      let later = newsroom.layer(persistence: disk).reactor(Post.self)
      let stored = try? await later.fetch("posts/2", policy: .cacheOnly)
      #expect(stored?.likes == 70)
    }
  }

  @Test func `by an own write keeps what was requested since its answer`() async {
    await Self.run { newsroom, layer, screen, disk in
      try await WriteWay.send.write(layer)
      try await newsroom.settle(.seconds(10))
      #expect(screen.likes == 2)
      let id = newsroom.changeIDs.value.last.flatMap(\.self) ?? ""
      newsroom.tell(#"{"url":"posts/1","gone":true,"by":"\#(id)"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(!screen.states.value.contains { $0.error?.isGone == true })
    }
  }

  @Test func `can be the meaning of another server's event`() async {
    let mapping = LiveMapping(resumes: true) { event in
      event.type == "removed" ? [.gone(Resource(event.data))] : []
    }
    await Self.run(mapping) { newsroom, layer, screen, disk in
      newsroom.send("event: removed\nid: 7\ndata: posts/1\n\n")
      try await newsroom.settle(.seconds(30))
      #expect(screen.states.value.last?.value == nil)
      #expect(newsroom.requests.value.isEmpty)
    }
  }
}
