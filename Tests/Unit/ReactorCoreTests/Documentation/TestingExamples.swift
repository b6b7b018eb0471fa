import Foundation
import HTTPTypes
import Observation
import ReactorConformance
import ReactorCore
import ReactorOperators
import ReactorTesting
import Testing

// The Swift code of ReactorCore.docc/TestingYourApp.md, which a test compares with it.

struct NewsStory: Codable, Sendable, Hashable {
  let id: Int
  let title: String
}

private let api = URL(string: "https://api.example.com/v1") ?? URL(filePath: "/")

/// Reachability of somebody's own.
private final class MyReachability: Reachability {
  private let base = ScriptedReachability(true)
  var isReachable: Bool { base.isReachable }
  var changes: AsyncStream<Bool> { base.changes }
  func simulate(isReachable: Bool) { base.set(isReachable) }
}

@Suite(.timeLimit(.minutes(5))) struct `The guide to testing` {
  private let file = FileManager.default.temporaryDirectory.appending(path: "stories-\(UUID().uuidString).json")

  @Test func `the list of stories survives a dead connection`() async throws {
    let transport = ScriptedTransport()
    var configuration = ReactorConfiguration()
    configuration.retry = .never
    let layer = ModelLayer(
      baseURL: api, transport: transport, reachability: ScriptedReachability(), configuration: configuration)
    let stories = layer.reactor([NewsStory].self)

    transport.answer(
      "/v1/stories", with: .json(#"[{"id": 1, "title": "Hello"}]"#), .failure(URLError(.networkConnectionLost)))
    #expect(try await stories.fetch("stories").count == 1)
    #expect(try await stories.fetch("stories", policy: .networkFirst).count == 1)
    #expect(transport.requests.map(\.path) == ["/v1/stories", "/v1/stories"])
  }

  @Test func `leaving a screen cancels its request`() async throws {
    let transport = ScriptedTransport()
    let layer = ModelLayer(baseURL: api, transport: transport, reachability: ScriptedReachability())
    let gate = Gate()
    transport.answer("/v1/stories", with: ScriptedTransport.Answer.json("[]").held(at: gate))

    let screen = Task { try await layer.reactor([NewsStory].self).fetch("stories") }
    try await transport.waitForRequests()
    screen.cancel()
    try await transport.waitForCancellations()
    await #expect(throws: ReactorError.self) { try await screen.value }
  }

  private typealias Answer = ScriptedTransport.Answer

  private func answers(_ clock: TestClock) -> [Answer] {
    [
      .json("[]").delayed(by: .seconds(3), on: clock),
      .json("[]").bodyDelayed(by: .seconds(3), on: clock),
      .json(#"[{"id": 1, "title": "Hello"}]"#).cutShort(after: 10),
    ]
  }

  @Test func `stories are stale after five minutes`() async throws {
    let transport = ScriptedTransport { _, _ in .json("[]") }
    let clock = TestClock()
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    configuration.now = clock.wallClock
    configuration.keepUnusedFor = .never
    let layer = ModelLayer(
      baseURL: api, transport: transport, reachability: ScriptedReachability(), configuration: configuration)
    let stories = layer.reactor([NewsStory].self)

    _ = try await stories.fetch("stories")
    clock.advance(by: .seconds(299))
    _ = try await stories.fetch("stories")
    #expect(transport.requestCount == 1)
    clock.advance(by: .seconds(1))
    _ = try await stories.fetch("stories")
    #expect(transport.requestCount == 2)
    try clock.checkNobodySleeps()
  }

  @Test func `all pages of the stories are read`() async throws {
    let transport = ScriptedTransport()
    transport.answer(
      "/v1/stories", withPages: .json(#"[{"id": 1, "title": "Hello"}]"#), .json(#"[{"id": 2, "title": "Moon"}]"#))
    let layer = ModelLayer(baseURL: api, transport: transport, reachability: ScriptedReachability())
    let stories = layer.reactor([NewsStory].self)

    var page = try await stories.fetchResponse("stories")
    while let next = try page.link(rel: "next") { page = try await stories.fetchResponse(next) }
    #expect(page.model.map(\.title) == ["Moon"])
    #expect(transport.requests.map(\.path) == ["/v1/stories", "/v1/stories?page=2"])
  }

  @Test func `stories are loaded again every half minute, unless power is saved`() async throws {
    let transport = ScriptedTransport { _, _ in .json("[]") }
    let (clock, power) = (TestClock(), ScriptedPowerSaving())
    let layer = ModelLayer(baseURL: api, transport: transport, reachability: ScriptedReachability())
    let states = layer.reactor([NewsStory].self).fetches("stories", policy: .networkOnly).loadStates()
      .reloadPeriodically(every: .seconds(30), while: power.updates.map { !$0 }, clock: clock)
    let live = await LiveResource(states)

    await live.wait { $0.value != nil }
    try await clock.waitForSleeper(for: .seconds(30))
    power.set(true)
    try await power.waitUntilHandled()
    clock.advance(by: .seconds(30))
    try await clock.waitUntilNobodySleeps()
    #expect(transport.requestCount == 1)
    power.set(false)
    try await transport.waitForRequests(count: 2)
  }

  @Test func `a fetch succeeds although the disk is full`() async throws {
    let persistence = FaultyPersistence()
    let layer = ModelLayer(
      baseURL: api, transport: ScriptedTransport { _, _ in .json("[]") }, persistence: persistence,
      reachability: ScriptedReachability())
    let recorder = EventRecorder(layer)

    persistence.fail(.save, with: CocoaError(.fileWriteOutOfSpace))
    #expect(try await layer.reactor([NewsStory].self).fetch("stories") == [])
    try await recorder.wait(for: .saveFailed)
  }

  private func slow(_ persistence: FaultyPersistence, _ clock: TestClock) async throws {
    persistence.delay(.load, by: .seconds(2), on: clock)
    let gate = persistence.hold(.save)
    try await gate.reached()
    persistence.crash()
  }

  @Test func `the second fetch sends no request`() async throws {
    let layer = ModelLayer(
      baseURL: api, transport: ScriptedTransport { _, _ in .json("[]") }, reachability: ScriptedReachability())
    let recorder = EventRecorder(layer)
    let stories = layer.reactor([NewsStory].self)

    _ = try await stories.fetch("stories")
    _ = try await stories.fetch("stories")
    #expect(recorder.count(.request) == 1)
    #expect(recorder.names.last == .memoryHit)
  }

  @Test(.disabled("it talks to a server"))
  func `stories come as the server sends them`() async throws {
    let transport = try CassetteTransport(file, over: URLSessionTransport())
    let layer = ModelLayer(baseURL: api, transport: transport)
    #expect(try await !layer.reactor([NewsStory].self).fetch("stories").isEmpty)
  }

  private func order() throws {
    var secrets = CassetteSecrets { exchange in
      if exchange.request.url.hasSuffix("/session") { exchange.request.body = Data() }
    }
    secrets.queryItems.insert("signature")
    let player = try CassettePlayer(contentsOf: file, matching: .inOrder, fields: [.accept], secrets: secrets)
    #expect(player.unplayed.isEmpty)
  }

  @Test func `my reachability keeps the contract`() async {
    await ReachabilityConformance(MyReachability()) { $0.simulate(isReachable: $1) }.run()
  }

  @Test func `my persistence keeps the contract`() async throws {
    try await PersistenceConformance { MemoryPersistence() }.run()
  }

  @Test func `a story is never shown to somebody else, whatever the order`() async {
    await Simulation.run(seeds: Simulation.seeds(50)) { world in
      world.network.serve { request, _ in
        let id = request.headerFields[.authorization] == "ann" ? 1 : 2
        return (HTTPResponse(status: .ok), Data(#"[{"id": \#(id), "title": ""}]"#.utf8))
      }
      let disk = world.disk.open()
      await world.users(4, steps: 1...8) { user in
        let name = user.number.isMultiple(of: 2) ? "ann" : "bob"
        let layer = ModelLayer(
          baseURL: api, transport: world.network, persistence: disk, reachability: world.reachability,
          scope: Scope(name), configuration: world.configuration)
        let stories = layer.reactor([NewsStory].self)
        let resource = Resource("stories", headers: [.authorization: name])
        let found = try await user.impatiently(in: world) { try? await stories.fetch(resource) }
        world.check(found??.allSatisfy { $0.id == (name == "ann" ? 1 : 2) } ?? true, "\(name) sees somebody else's")
      }
    }
  }
}

@MainActor @Observable
final class StoriesModel {
  let stories: LiveResource<[NewsStory]>
  private(set) var found: [NewsStory] = []
  private let reactor: Reactor<[NewsStory]>
  private let clock: any Clock<Duration>
  private var search: Task<Void, Never>?

  init(_ layer: ModelLayer, clock: any Clock<Duration> = ContinuousClock()) {
    reactor = layer.reactor()
    stories = LiveResource(reactor, "stories")
    self.clock = clock
  }

  /// Searches once the typing has paused.
  func type(_ text: String) {
    search?.cancel()
    search = Task {
      guard (try? await clock.sleep(for: .milliseconds(300))) != nil else { return }
      if let stories = try? await reactor.fetch("search?q=\(text)") { found = stories }
    }
  }
}

@MainActor @Suite(.timeLimit(.minutes(1)))
struct `The list of stories` {
  @Test func `shows the stories, and what a search finds`() async throws {
    let (transport, clock) = (ScriptedTransport(), TestClock())
    transport.answer("/v1/stories", with: .json(#"[{"id": 1, "title": "Hello"}]"#))
    transport.answer("/v1/search?q=moon", with: .json(#"[{"id": 2, "title": "Moon"}]"#))
    var configuration = ReactorConfiguration()
    configuration.clock = clock
    let layer = ModelLayer(
      baseURL: api, transport: transport, reachability: ScriptedReachability(), configuration: configuration)
    let model = StoriesModel(layer, clock: clock)

    await model.stories.wait { $0.value?.count == 1 }
    model.type("mo")
    model.type("moon")
    try await clock.waitForSleeper(for: .milliseconds(300))
    clock.advance(by: .milliseconds(300))
    await model.waitUntil { $0.found.map(\.title) == ["Moon"] }
    #expect(transport.requests.map(\.path) == ["/v1/stories", "/v1/search?q=moon"])
  }
}
