import Foundation
import HTTPTypes
import ReactorConformance
import ReactorCore
import ReactorTesting
import Testing

@testable import ReactorInspector
@testable import ReactorLive

@Suite("The stream of changes that an inspector shows", .timeLimit(.minutes(1))) struct StreamTests {
  @Test func `a layer that follows no server has no stream`() async throws {
    try await Site.run(isLive: false) { site in
      let (first, next) = (try site.frame(), try site.frame())
      #expect(first?.streams == [] && next == nil)
    }
  }

  @Test func `the stream is off until something is observed, then says whether it is live, and what it has caused`()
    async throws
  {
    try await Site.run { site in
      let first = try #require(site.frame()?.streams?.first)
      #expect(first.phase == "off" && first.reason == "nothing is observed" && first.position.isEmpty)
      #expect(first.counts == Counts() && first.steps.isEmpty && first.heardAt == nil)
      let observer = try await site.observe("posts/1")
      let opened = try #require(site.frame()?.streams?.first)
      #expect(opened.phase == "catchingUp" && opened.counts.connections == 1)
      #expect(opened.steps.map(\.text) == ["connects", "catching up"])
      try await site.send(
        "event: hello\ndata: {\"v\":1,\"resumed\":false,\"head\":\"a.1\",\"heartbeat\":15}\n\n", "id: a.2\n",
        "event: change\ndata: {\"changes\":[{\"url\":\"posts/1\"},{\"under\":\"authors\"}]}\n\n")
      try await site.world.clock.sleep(for: .seconds(3))
      let live = try #require(site.frame()?.streams?.first)
      #expect(live.phase == "live" && live.reason == nil && live.position == "a.2" && live.heartbeat == 15_000)
      // The greeting is a gap, and so asks for what is observed; and the change asks once more.
      #expect(live.counts == Counts(connections: 1, events: 2, marks: 1, refetches: 2, gaps: 1, lags: 0))
      #expect(live.queued == 0)
      let heard = try #require(live.heardAt)
      #expect(abs(site.now - heard - 3_000) < 100)
      #expect(
        live.steps.map(\.text) == [
          "hello: the server does not continue behind the position",
          "gap: all that the stream covers is stale", "live",
          "changed: https://api.example.com/v1/posts/1 and 1 more",
        ])
      let next = try site.frame()
      #expect(next == nil)
      observer.cancel()
    }
  }

  @Test func `an interruption has its reason, and the time of the next attempt`() async throws {
    try await Site.run { site in
      let observer = try await site.observe("posts/1")
      try await site.send("event: hello\ndata: {\"v\":1,\"head\":\"a.1\"}\n\n")
      _ = try site.frame()
      site.refuses.change { $0 = true }
      site.streams.value.last?.finish(throwing: URLError(.networkConnectionLost))
      try await site.world.clock.sleep(for: .milliseconds(1))
      let cut = try #require(site.frame()?.streams?.first)
      #expect(cut.phase == "waiting" && cut.position == "a.1" && cut.heardAt == nil)
      #expect(cut.reason?.contains("connection was lost") == true)
      let until = try #require(cut.until)
      #expect(until >= site.now)
      #expect(cut.steps.last?.isBad == true && cut.steps.last?.text.hasPrefix("waiting: ") == true)
      try await site.world.clock.sleep(for: .seconds(60))
      let refused = try #require(site.frame()?.streams?.first)
      #expect(refused.phase == "off" && refused.reason == "the server answered 403 with 6 bytes")
      #expect(refused.steps.map(\.text).contains("connects, behind its position"))
      observer.cancel()
    }
  }

  @Test func `a reader that comes later gets all steps that are kept, the latest hundred`() async throws {
    try await Site.run { site in
      let observer = try await site.observe("posts/1")
      try await site.send("event: hello\ndata: {\"v\":1,\"head\":\"a.1\"}\n\n")
      for number in 0..<120 {
        try await site.send("event: change\ndata: {\"changes\":[{\"url\":\"posts/\(number)\"}]}\n\n")
      }
      let stream = try #require(site.frame()?.streams?.first)
      #expect(stream.steps.count == 100 && stream.counts.events == 121)
      #expect(stream.steps.last?.text == "changed: https://api.example.com/v1/posts/119")
      observer.cancel()
    }
  }
}

/// A layer that follows a server in simulated time, and an inspector of it.
private final class Site: Sendable {
  let world: SimulatedWorld
  let streams = Shared<[AsyncThrowingStream<ArraySlice<UInt8>, any Error>.Continuation]>([])
  let refuses = Shared(false)
  private let layer: ModelLayer
  private let recorder: Recorder
  private let cursor = Shared(FeedCursor())

  private init(_ world: SimulatedWorld, isLive: Bool) throws {
    self.world = world
    world.currentFaults = .none
    let base = try #require(URL(string: "https://api.example.com/v1/"))
    let transport = ScriptedTransport { _, _ in .json(#"{"likes":1}"#) }
    let live = ModelLayer.Extension.live(
      .changes, LiveConfiguration(), base: { _ in "https://api.example.com/v1/events" }
    ) { [streams, refuses] _, _ throws(ReactorError) in
      if refuses.value { throw .server(HTTPResponse(status: .forbidden), body: Data("secret".utf8)) }
      let (stream, continuation) = AsyncThrowingStream.makeStream(of: ArraySlice<UInt8>.self)
      streams.change { $0.append(continuation) }
      return LiveResponse(status: 200, contentType: "text/event-stream", body: ResponseBody(stream))
    }
    layer = ModelLayer(
      backend: Backend(baseURL: base, transport: transport, reachability: world.reachability),
      configuration: world.configuration, extensions: isLive ? [live] : [])
    recorder = Recorder(now: world.clock.wallClock)
    recorder.show(layer)
  }

  static func run(isLive: Bool = true, _ body: @escaping @Sendable (Site) async throws -> Void) async throws {
    await Simulation.run(seeds: 0..<3) { world in
      let site = try Site(world, isLive: isLive)
      try await body(site)
      for stream in site.streams.value { stream.finish() }
    }
  }

  var now: Double { recorder.now }

  /// The next frame as the page reads it; `nil` if nothing has changed.
  func frame() throws -> ReadStreams? {
    var cursor = cursor.value
    defer { self.cursor.change { [cursor] in $0 = cursor } }
    return try recorder.frame(&cursor).map {
      try JSONDecoder().decode(ReadStreams.self, from: JSONEncoder().encode($0))
    }
  }

  func observe(_ resource: Resource) async throws -> TaskHandle {
    let observer = TaskHandle(priority: nil)
    observer.attach(
      spawn(on: world.configuration.taskExecutor) { [layer] in
        for await _ in layer.reactor(Post.self).states(for: resource) {}
      })
    try await world.clock.sleep(for: .seconds(1))
    return observer
  }

  func send(_ pieces: String...) async throws {
    for piece in pieces { streams.value.last?.yield(Array(piece.utf8)[...]) }
    try await world.clock.sleep(for: .milliseconds(1))
  }
}

private struct Post: Codable, Sendable { var likes: Int }

/// The streams of a frame as the page reads them.
private struct ReadStreams: Decodable, Equatable {
  struct Stream: Decodable, Equatable {
    struct Step: Decodable, Equatable {
      var number: UInt64
      var at: Double
      var text: String
      var isBad: Bool
    }

    var layer: Int
    var phase: String
    var reason: String?
    var until: Double?
    var position: String
    var heardAt: Double?
    var heartbeat: Double?
    var queued: Int
    var counts: Counts
    var steps: [Step]
  }

  var streams: [Stream]?
}

private struct Counts: Decodable, Equatable {
  var connections = 0
  var events = 0
  var marks = 0
  var refetches = 0
  var gaps = 0
  var lags = 0
}
