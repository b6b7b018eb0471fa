import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorLive
import ReactorOutbox
import ReactorTesting
import ReactorWrites
import TestSupport
import Testing

/// The way in which a write is sent.
enum WriteWay: String, CaseIterable, Sendable {
  case send, mutate, outbox

  func write(_ layer: ModelLayer) async throws {
    let request = Resource("posts/1", method: .put, body: Data())
    switch self {
    case .send: try await layer.send(request)
    case .mutate:
      try await layer.reactor(Post.self).mutate("posts/1", by: request) { $0.likes += 1 }
    case .outbox:
      try await layer.submit(AddLike()).answer()
    }
  }
}

struct AddLike: Mutation {
  static let name = "addLike"

  func request(_ known: Known) -> Resource { Resource("posts/1", method: .put, body: Data()) }
  func draft(_ drafts: inout Drafts) { drafts.change(Post.self, at: "posts/1") { $0.likes = 2 } }
}

@Suite("The echo of an own write", .timeLimit(.minutes(1))) struct LiveEchoTests {
  /// Shows a post that is live, and returns the screen.
  private static func begin(_ newsroom: Newsroom, _ layer: ModelLayer) async throws -> Screen {
    let screen = newsroom.watch("posts/1", layer)
    try await newsroom.settle()
    newsroom.greet()
    try await newsroom.settle()
    #expect(newsroom.reads(of: "/v1/posts/1") == 2)
    return screen
  }

  @Test(arguments: WriteWay.allCases, [true, false])
  func `asks once, for the write, whether it is known by its tag or by its id`(_ way: WriteWay, _ hasTags: Bool) async {
    await Newsroom.run { newsroom, layer in
      newsroom.tagsResponses.change { $0 = hasTags }
      let screen = try await Self.begin(newsroom, layer)
      try await way.write(layer)
      // While the request that the write causes is under way.
      let by = newsroom.changeIDs.value.last.flatMap(\.self) ?? ""
      newsroom.tell(
        hasTags ? #"{"url":"posts/1","etag":"\"2\""}"# : #"{"url":"posts/1","by":"\#(by)"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      #expect(newsroom.reads(of: "/v1/posts/1") == 3)
    }
  }

  @Test(arguments: WriteWay.allCases, [true, false])
  func `that comes before the answer asks once, too`(_ way: WriteWay, _ hasTags: Bool) async {
    await Newsroom.run { newsroom, layer in
      newsroom.tagsResponses.change { $0 = hasTags }
      newsroom.latency.change { $0 = .milliseconds(400) }
      let screen = try await Self.begin(newsroom, layer)
      newsroom.beforeAnswer.change { [newsroom] in
        $0 = { id in
          newsroom.tell(
            hasTags ? #"{"url":"posts/1","etag":"\"2\""}"# : #"{"url":"posts/1","by":"\#(id ?? "")"}"#, at: "a.2")
        }
      }
      try await way.write(layer)
      newsroom.beforeAnswer.change { $0 = nil }
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
      #expect(newsroom.reads(of: "/v1/posts/1") == 3)
    }
  }

  @Test func `a change that somebody else makes after the write is shown, although it repeats the id`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      try await WriteWay.send.write(layer)
      try await newsroom.settle()
      let id = newsroom.changeIDs.value.last.flatMap(\.self) ?? ""
      newsroom.tell(#"{"url":"posts/1","by":"\#(id)"}"#, at: "a.2")
      try await newsroom.settle()
      #expect(newsroom.reads(of: "/v1/posts/1") == 3)
      newsroom.likes.change { $0[1] = 9 }
      newsroom.tell(#"{"url":"posts/1","by":"\#(id)"}"#, at: "a.3")
      try await newsroom.settle()
      #expect(screen.likes == 9)
    }
  }

  @Test func `a version that somebody else sets again is asked for`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.tagsResponses.change { $0 = true }
      let screen = try await Self.begin(newsroom, layer)
      try await WriteWay.send.write(layer)
      newsroom.tell(#"{"url":"posts/1","etag":"\"2\""}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      for (number, likes) in [(3, 1), (4, 2)] {
        newsroom.likes.change { $0[1] = likes }
        newsroom.tell(#"{"url":"posts/1","etag":"\"\#(likes)\""}"#, at: "a.\(number)")
        try await newsroom.settle(.seconds(30))
        #expect(screen.likes == likes)
      }
    }
  }

  @Test func `a write that the server carries out after its 202 is no echo`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.defersWrites.change { $0 = true }
      let screen = try await Self.begin(newsroom, layer)
      try await WriteWay.send.write(layer)
      try await newsroom.settle()
      newsroom.likes.change { $0[1] = 7 }
      let id = newsroom.changeIDs.value.last.flatMap(\.self) ?? ""
      newsroom.tell(#"{"url":"posts/1","by":"\#(id)"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 7)
    }
  }

  @Test func `what else the write has changed is asked for once`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      let other = newsroom.watch("posts/2", layer)
      try await newsroom.settle()
      try await WriteWay.send.write(layer)
      newsroom.likes.change { $0[2] = 5 }
      let id = newsroom.changeIDs.value.last.flatMap(\.self) ?? ""
      newsroom.tell(#"{"url":"posts/1","by":"\#(id)"},{"under":"posts","by":"\#(id)"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 2)
      #expect(other.likes == 5)
      #expect(newsroom.reads(of: "/v1/posts/1") == 3)
      #expect(newsroom.requests.value.filter { $0 == "/v1/posts/2" }.count == 2)
    }
  }

  @Test func `a write that fails after the server has told its change shows it`() async {
    await Newsroom.run { newsroom, layer in
      let screen = try await Self.begin(newsroom, layer)
      newsroom.beforeAnswer.change { [newsroom] in
        $0 = { id in
          newsroom.tell(#"{"url":"posts/1","by":"\#(id ?? "")"}"#, at: "a.2")
          newsroom.latency.change { $0 = .seconds(4) }
        }
      }
      var request = Resource("posts/1", method: .post, body: Data())
      request.timeout = .seconds(1)
      do { try await layer.send(request) } catch {}
      newsroom.latency.change { $0 = .milliseconds(10) }
      try await newsroom.settle()
      #expect(screen.likes == 2)
      #expect(!screen.isStale)
    }
  }

  @Test func `a layer that follows nobody sends no id`() async {
    await Simulation.run(seeds: 0..<1) { world in
      let newsroom = Newsroom(world)
      let layer = ModelLayer(backend: newsroom.backend, configuration: world.configuration)
      try await layer.send(Resource("posts/1", method: .put, body: Data()))
      #expect(newsroom.changeIDs.value == [nil])
      newsroom.end()
    }
  }
}
