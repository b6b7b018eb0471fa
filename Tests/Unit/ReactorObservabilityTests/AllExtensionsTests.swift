#if Observability
  import Foundation
  import HTTPTypes
  import InMemoryTracing
  import MetricsTestKit
  import ReactorCore
  import ReactorFleet
  import ReactorInspector
  import ReactorObservability
  import ReactorOutbox
  import ReactorTesting
  import Synchronization
  import TestSupport
  import Testing

  /// An API with a list of names, to which a POST adds its body.
  private final class API: Sendable {
    struct State {
      var names = ["a"]
      var requests: [String] = []
    }

    let state = Mutex(State())

    var requests: [String] { state.withLock(\.requests) }

    @Sendable func answer(_ request: HTTPRequest, _ body: Data?) -> ScriptedTransport.Answer {
      state.withLock { state in
        state.requests.append(request.method.rawValue)
        if request.method == .post {
          state.names.append(String(decoding: body ?? Data(), as: UTF8.self))
          return .response(.created)
        }
        let tag = "\"\(state.names.count)\""
        let fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: tag]
        if request.headerFields[.ifNoneMatch] == tag { return .response(.notModified, fields: fields) }
        return .json("[\(state.names.map { "\"\($0)\"" }.joined(separator: ","))]", fields: fields)
      }
    }
  }

  private struct AddName: Mutation {
    var name: String

    func request(_ known: Known) -> Resource { Resource("list", method: .post, body: Data(name.utf8)) }

    func draft(_ drafts: inout Drafts) {
      drafts.change([String].self, at: "list") { [name] in if !$0.contains(name) { $0.append(name) } }
    }
  }

  /// The parts that outlive a process, and the parts that servers share.
  private struct Surroundings {
    let clock = TestClock()
    let api = API()
    let store: MemoryFleetStore
    /// The disk of the first server.
    let records = MemoryPersistence()
    let directory: URL
    let isReversed: Bool

    init(_ directory: URL, isReversed: Bool) {
      let clock = clock
      store = MemoryFleetStore(now: { UInt64(clock.wallClock().timeIntervalSince1970 * 1_000_000) })
      (self.directory, self.isReversed) = (directory, isReversed)
    }
  }

  /// One process of a server: a layer with an outbox and a fleet that is observed and inspected.
  private final class Server: Sendable {
    let layer: ModelLayer
    let names: Reactor<[String]>
    let reachability = ScriptedReachability(true)
    let fleet: Fleet
    let inspector: Inspector
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    private let running: Task<Void, Never>

    /// - Parameter disk: The name of the outbox's directory.
    init(_ around: Surroundings, disk: String, records: MemoryPersistence? = nil, isOnline: Bool = true) async {
      reachability.set(isOnline)
      let observability = Observability(tracer: tracer, metrics: metrics)
      var configuration = ReactorConfiguration()
      (configuration.clock, configuration.now) = (around.clock, around.clock.wallClock)
      (configuration.retry, configuration.keepUnusedFor) = (.never, .never)
      configuration.instrument = observability
      var settings = FleetConfiguration()
      (settings.clock, settings.now) = (around.clock, around.clock.wallClock)
      fleet = Fleet(observability.observing(around.store), configuration: settings)
      let outbox = OutboxConfiguration(
        storage: FileOutboxStorage(directory: around.directory.appending(path: disk)), mutations: [AddName.self])
      let extensions: [ModelLayer.Extension] = [.outbox(outbox), .fleet(fleet)]
      layer = ModelLayer(
        backend: Backend(
          baseURL: Bench.url, transport: ScriptedTransport(handler: around.api.answer), reachability: reachability),
        persistence: records, configuration: configuration,
        extensions: around.isReversed ? extensions.reversed() : extensions)
      inspector = Inspector(clock: around.clock, now: around.clock.wallClock)
      inspector.show(layer)
      names = layer.reactor()
      running = Task { [fleet] in try? await fleet.run() }
      await until { fleet.status == .following }
    }

    /// Ends the process as a crash does: nothing is sent or saved any more.
    func end() async {
      running.cancel()
      await running.value
    }

    var isStale: Bool { names.states(for: "list").current.isStale }

    /// Returns what the page of the inspector shows first.
    func page() async -> String {
      let request = HTTPRequest(method: .get, scheme: "http", authority: "localhost", path: "/inspector/live")
      var pieces = await inspector.respond(to: request).body.makeAsyncIterator()
      return await pieces.next().map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    func total(_ label: String, _ dimensions: [String: String]) -> Int64 {
      metrics.counters(label: label).filter { counter in
        dimensions.allSatisfy { name, value in counter.dimensions.contains { $0 == (name, value) } }
      }
      .map(\.totalValue).reduce(0, +)
    }

    /// Fetches the list, and waits until the others may use it.
    func share() async throws {
      #expect(try await names.fetch("list") == ["a"])
      await until { total("reactor.fleet.commits", ["outcome": "kept"]) > 0 }
    }
  }

  /// Waits for what other tasks do, for as many turns as that can take.
  private func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () -> Bool) async {
    for _ in 0..<100_000 {
      if condition() { return }
      await Task.yield()
    }
    Issue.record("it has not come to that", sourceLocation: sourceLocation)
  }

  @Suite("A layer with an outbox and a fleet, observed and inspected", .timeLimit(.minutes(3)))
  struct AllExtensionsTests {
    @Test(arguments: [false, true])
    func `a layer with all extensions shares its fetches, shows its writes, and notifies others`(
      isReversed: Bool
    ) async throws {
      try await withTemporaryDirectory { directory in
        let around = Surroundings(directory, isReversed: isReversed)
        let (one, other) = (await Server(around, disk: "one"), await Server(around, disk: "other"))
        try await one.share()
        #expect(try await other.names.fetch("list") == ["a"])
        #expect(around.api.requests == ["GET"])
        #expect(one.total("reactor.requests", ["source": "network"]) == 1)
        #expect(other.total("reactor.requests", ["source": "fleet"]) == 1)

        one.reachability.set(false)
        let submission = try await one.layer.submit(AddName(name: "b"))
        #expect(one.names.cached("list") == ["a", "b"] && other.names.cached("list") == ["a"])
        #expect(await one.page().contains(#""name":"AddName""#))
        #expect(await !other.page().contains(#""name":"AddName""#))

        one.reachability.set(true)
        try await submission.answer()
        await until { other.isStale }
        #expect(try await other.names.fetch("list") == ["a", "b"])
        #expect(try await one.names.fetch("list") == ["a", "b"])
        #expect(around.api.requests.filter { $0 == "POST" }.count == 1)
        #expect(await !one.page().contains(#""name":"AddName""#))
        for server in [one, other] { await server.end() }
      }
    }

    @Test(arguments: [false, true])
    func `a layer with all extensions forgets everything at a sign-out`(isReversed: Bool) async throws {
      try await withTemporaryDirectory { directory in
        let around = Surroundings(directory, isReversed: isReversed)
        let one = await Server(around, disk: "one", records: around.records)
        let other = await Server(around, disk: "other")
        try await one.share()
        one.reachability.set(false)
        let submission = try await one.layer.submit(AddName(name: "b"))
        try await one.layer.signOut()

        #expect(await error { try await submission.answer() }?.isCancelled == true)
        #expect(one.names.cached("list") == nil && one.layer.outbox.entries.isEmpty)
        #expect(await !one.page().contains(#""name":"AddName""#))
        // The record of the fleet is gone too, and so is the record on disk.
        #expect(try await other.names.fetch("list") == ["a"])
        #expect(other.total("reactor.requests", ["source": "network"]) == 1)
        await one.end()

        let again = await Server(around, disk: "one", records: around.records)
        try await again.layer.outbox.reload()
        #expect(again.layer.outbox.entries.isEmpty)
        #expect(try await again.names.fetch("list") == ["a"])
        #expect(around.api.requests == ["GET", "GET"])
        for server in [other, again] { await server.end() }
      }
    }

    @Test(arguments: [false, true])
    func `a layer with all extensions sends its writes after a crash, and then notifies others`(isReversed: Bool)
      async throws
    {
      try await withTemporaryDirectory { directory in
        let around = Surroundings(directory, isReversed: isReversed)
        let other = await Server(around, disk: "other")
        var one: Server? = await Server(around, disk: "one", records: around.records)
        try await one?.share()
        #expect(try await other.names.fetch("list") == ["a"])
        one?.reachability.set(false)
        try await one?.layer.submit(AddName(name: "b"))
        await one?.end()
        weak let crashed = one?.layer
        one = nil
        #expect(crashed == nil)

        let again = await Server(around, disk: "one", records: around.records, isOnline: false)
        // The flight waits for the drafts of the earlier process.
        #expect(try await again.names.fetch("list", policy: .cacheOnly) == ["a", "b"])
        #expect(await again.page().contains(#""name":"AddName""#))
        #expect(around.api.requests == ["GET"])
        again.reachability.set(true)
        await until { other.isStale }
        #expect(try await other.names.fetch("list") == ["a", "b"])
        await until { again.layer.outbox.entries.isEmpty }
        #expect(around.api.requests.filter { $0 == "POST" }.count == 1)
        for server in [other, again] { await server.end() }
      }
    }
  }
#endif
