import HTTPCaching
import ReactorCore
import ReactorLive
import ReactorMiddleware
import ReactorTesting
import TestSupport
import Testing

@Suite("The changes of a server that is slow, strict or spells URLs in its own way", .timeLimit(.minutes(1)))
struct LiveServerTests {
  @Test func `a server that accepts a stream and never sends a head is given up after ten seconds`() async {
    await Newsroom.run { newsroom, layer in
      newsroom.isMute.change { $0 = true }
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle(.seconds(9))
      #expect(layer.live?.status.description == "catching up")
      newsroom.isMute.change { $0 = false }
      try await newsroom.settle(.seconds(4))
      #expect(newsroom.opened.value.count == 2)
      newsroom.greet()
      try await newsroom.settle()
      #expect(layer.live?.status.isLive == true)
      #expect(screen.likes == 1)
    }
  }

  @Test func `what the server refused for the credential is asked for again after the sign-in`() async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch("posts/1", layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.token.change { $0 = "new" }
      newsroom.likes.change { $0[1] = 5 }
      newsroom.tell(#"{"url":"/v1/posts/1"}"#, at: "a.2")
      try await newsroom.settle(.seconds(30))
      #expect(screen.likes == 1)
      let refused = newsroom.requests.value.count
      newsroom.authentication.signIn("new")
      try await newsroom.settle()
      #expect(screen.likes == 5)
      #expect(newsroom.requests.value.count == refused + 1)
    }
  }

  @Test(arguments: [
    ("posts/1", #"{"url":"https://api.example.com:443/v1/posts/1"}"#),
    ("posts/1", #"{"url":"HTTPS://API.Example.com/v1/posts/1"}"#), ("posts/1", #"{"url":"/v1/posts/%31"}"#),
    ("posts/é/1", #"{"url":"/v1/posts/%c3%a9/1"}"#), ("posts/é/1", #"{"under":"/v1/posts/%c3%a9"}"#),
    ("posts/1", #"{"under":"/v1/posts/1/"}"#), ("posts/1", #"{"under":"https://api.example.com:443/v1/"}"#),
    ("posts/1", #"{"under":"/v1"}"#),
  ])
  func `a change is found in any spelling of its URL`(_ path: String, _ change: String) async {
    await Newsroom.run { newsroom, layer in
      let screen = newsroom.watch(Resource(path), layer)
      try await newsroom.settle()
      newsroom.greet()
      try await newsroom.settle()
      newsroom.likes.change { $0[1] = 5 }
      newsroom.tell(change, at: "a.2")
      try await newsroom.settle()
      #expect(screen.likes == 5)
    }
  }

  @Test func `a mark of a URL costs the same in a memory of three thousand keys`() async throws {
    let set = KeySet(urls: ["https://api.example.com/v1/posts/1"])
    func layer(_ count: Int) async throws -> ModelLayer {
      let layer = Bench(persistence: nil) { $0.memoryLimit.models = 10_000 }.layer
      let posts = layer.reactor(Post.self)
      for number in 0..<count { try await posts.save(Post(likes: number), for: Resource("posts/\(number)")) }
      // The first one makes the index.
      layer.layer.mark(set)
      return layer
    }
    func duration(_ layer: ModelLayer) -> Duration {
      ContinuousClock().measure {
        for _ in 0..<100 {
          layer.layer.mark(set)
          _ = layer.layer.outdatedStreams(in: set)
        }
      }
    }
    let layers = (few: try await layer(30), many: try await layer(3_000))
    // The shortest of many: other programs may take the processor at any time.
    var (few, many) = (Duration.seconds(60), Duration.seconds(60))
    for _ in 0..<50 { (few, many) = (min(few, duration(layers.few)), min(many, duration(layers.many))) }
    #expect(many < few * 4)
  }
}
