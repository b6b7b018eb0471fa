import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore
import ReactorFleet
import ReactorTesting
import Synchronization
import TestSupport
import Testing

/// A server whose resource is a list of names, with an entity tag and freshness of ten minutes.
private final class Origin: Sendable {
  struct State {
    var names = ["a"]
    var version = 1
    var fields: HTTPFields = [.cacheControl: "max-age=600"]
    var isDown = false
    /// The methods of the requests, with `*` behind those with a condition.
    var requests: [String] = []
  }

  let state = Mutex(State())
  /// The point at which a GET waits before it is answered.
  let gate = Gate(isOpen: true)

  var requests: [String] { state.withLock(\.requests) }

  func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }

  @Sendable func answer(_ request: HTTPRequest, _ body: Data?) async throws -> ScriptedTransport.Answer {
    let isConditional = request.headerFields.contains(.ifNoneMatch)
    let answer = state.withLock { state -> ScriptedTransport.Answer in
      state.requests.append(request.method.rawValue + (isConditional ? "*" : ""))
      guard !state.isDown else { return .response(.serviceUnavailable) }
      guard request.method == .get || request.method == .query else {
        state.names.append("\(state.version)")
        state.version += 1
        return .response(.noContent)
      }
      var fields = state.fields
      fields[.eTag] = "\"\(state.version)\""
      if request.headerFields[.ifNoneMatch] == fields[.eTag] { return .response(.notModified, fields: fields) }
      return .json("[\(state.names.map { "\"\($0)\"" }.joined(separator: ","))]", fields: fields)
    }
    if request.method == .get { await gate.waitIgnoringCancellation() }
    return answer
  }
}

/// A server of a fleet that uses a model layer.
private final class LayerServer: Sendable {
  let store: UnreliableStore
  let fleet: Fleet
  let layer: ModelLayer
  let names: Reactor<[String]>
  let log: EventRecorder
  private let running: Task<Void, Never>

  init(
    _ shared: MemoryFleetStore, _ clock: TestClock, _ origin: Origin, scope: Scope = .shared,
    persistence: MemoryPersistence? = nil, leaping: LeapingClock? = nil
  ) async {
    store = UnreliableStore(shared)
    var configuration = FleetConfiguration()
    configuration.clock = leaping ?? clock
    configuration.now = clock.wallClock
    fleet = Fleet(store, configuration: configuration)
    var settings = ReactorConfiguration()
    settings.clock = clock
    settings.now = leaping?.wallClock ?? clock.wallClock
    settings.keepUnusedFor = .never
    settings.retry = .never
    layer = ModelLayer(
      backend: Backend(
        baseURL: Bench.url, transport: ScriptedTransport(handler: origin.answer),
        reachability: ScriptedReachability(true)),
      persistence: persistence, scope: scope, configuration: settings, extensions: [.fleet(fleet)])
    names = layer.reactor()
    log = EventRecorder(layer)
    running = Task { [fleet] in try? await fleet.run() }
    await until { fleet.status == .following }
  }

  var isStale: Bool { names.states(for: "list").current.isStale }

  func stop() async {
    running.cancel()
    await running.value
    #expect(fleet.status == .off)
    #expect(fleet.statistics.waiting == 0)
  }
}

/// Waits for what other tasks do, for as many turns as that can take.
private func until(sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async -> Bool) async {
  for _ in 0..<100_000 {
    if await condition() { return }
    await Task.yield()
  }
  Issue.record("it has not come to that", sourceLocation: sourceLocation)
}

@Suite("Layers with one store", .timeLimit(.minutes(5)))
struct LayerFleetTests {
  private let store: MemoryFleetStore
  private let clock = TestClock()
  private let origin = Origin()

  init() { store = FleetServer.store(clock) }

  private func server(
    scope: Scope = .shared, persistence: MemoryPersistence? = nil
  ) async -> LayerServer { await LayerServer(store, clock, origin, scope: scope, persistence: persistence) }

  /// Runs `body` with two servers, and a third that only looks at what they share.
  private func withPair(_ body: (LayerServer, LayerServer, FleetServer) async throws -> Void) async throws {
    let (one, other, reader) = (await server(), await server(), await FleetServer(store, clock))
    try await body(one, other, reader)
    await one.stop()
    await other.stop()
    await reader.stop()
  }

  /// Waits until the list that is shared is this one; it is committed behind the callers' backs.
  private func untilShared(_ names: String..., by reader: FleetServer) async {
    let expected = "[\(names.map { "\"\($0)\"" }.joined(separator: ","))]"
    await until { await reader.stored(path: "/v1/list") == expected }
  }

  @Test func `one asks, and the other uses its response, as old as it is`() async throws {
    try await withPair { one, other, reader in
      origin.change { $0.fields = [.cacheControl: "max-age=3"] }
      #expect(try await one.names.fetchResponse("list").origin == .network)
      await untilShared("a", by: reader)
      clock.advance(by: .seconds(2))
      let shared = try await other.names.fetchResponse("list")
      #expect(shared.model == ["a"] && shared.origin == .fleet)
      #expect(other.names.states(for: "list").current.origin == .memory)
      #expect(origin.requests == ["GET"])
      #expect(other.log.count(.sharedHit) == 1 && other.log.count(.request) == 0)
      // In memory from now on, until it is three seconds old.
      #expect(try await other.names.fetch("list") == ["a"])
      #expect(other.log.count(.memoryHit) == 1)
      try await clock.waitForSleeper(until: clock.now.advanced(by: .seconds(1)))
      clock.advance(by: .milliseconds(1_500))
      #expect(other.isStale)
    }
  }

  @Test func `of many concurrent fetches on two servers, one is sent`() async throws {
    try await withPair { one, other, _ in
      origin.gate.close()
      let fetches = (0..<20).map { index in
        Task { try await (index % 2 == 0 ? one : other).names.fetch("list") }
      }
      try await origin.gate.waitForArrival()
      await until { one.fleet.statistics.waiting + other.fleet.statistics.waiting == 1 }
      origin.gate.open()
      for fetch in fetches { #expect(try await fetch.value == ["a"]) }
      #expect(origin.requests == ["GET"])
    }
  }

  @Test func `a change through one is stale in the memory of the other, and shows in its streams`() async throws {
    try await withPair { one, other, reader in
      _ = try await one.names.fetch("list")
      await untilShared("a", by: reader)
      let shown = Shared<[String]?>(nil)
      let stream = Task { for await state in other.names.states(for: "list") { shown.change { $0 = state.value } } }
      await until { shown.value == ["a"] }
      try await one.layer.send(Resource("list", method: .put))
      await until { shown.value == ["a", "1"] }
      #expect(try await one.names.fetch("list") == ["a", "1"])
      // The faster server has validated it for both, once, or a second time where the two changes
      // of memory, the message and the answer, came apart.
      #expect(origin.requests.prefix(2) == ["GET", "PUT"] && (3...4).contains(origin.requests.count))
      stream.cancel()
      await stream.value
    }
  }

  @Test func `an invalidation on one server makes the resource stale on all, and one refetches it`() async throws {
    try await withPair { one, other, reader in
      for server in [one, other] { _ = try await server.names.fetch("list") }
      await untilShared("a", by: reader)
      origin.change {
        $0.names = ["b"]; $0.version = 2
      }
      await one.names.invalidate("list")
      await until { other.isStale }
      #expect(try await other.names.fetch("list") == ["b"])
      await untilShared("b", by: reader)
      #expect(try await one.names.fetch("list") == ["b"])
      #expect(origin.requests.suffix(1) == ["GET*"])
      #expect(one.log.count(.sharedHit) + other.log.count(.sharedHit) >= 1)
    }
  }

  @Test func `a layer that wants the server's answer requests it, and the others get the new one`() async throws {
    try await withPair { one, other, reader in
      for server in [one, other] { _ = try await server.names.fetch("list") }
      await untilShared("a", by: reader)
      origin.change {
        $0.names = ["b"]; $0.version = 2
      }
      let count = origin.requests.count
      #expect(try await one.names.fetchFromNetwork("list") == ["b"])
      #expect(origin.requests.count == count + 1)
      await untilShared("b", by: reader)
      await until { other.isStale }
      #expect(try await other.names.fetch("list") == ["b"])
      #expect(origin.requests.count == count + 1)
    }
  }

  @Test func `an invalidation reaches an unshared layer, which stores nothing in the fleet`() async throws {
    let (shared, alice) = (await server(), await server(scope: "alice"))
    _ = try await alice.names.fetch("list")
    _ = try await shared.names.fetch("list")
    #expect(origin.requests == ["GET", "GET"])
    try await shared.layer.send(Resource("list", method: .put))
    await until { alice.isStale }
    #expect(try await alice.names.fetch("list") == ["a", "1"])
    await shared.stop()
    await alice.stop()
  }

  @Test func `a QUERY is validated at each use, since a change through another server is not heard`() async throws {
    try await withPair { one, other, _ in
      let query = try Resource("list", method: .query, json: ["q": "a"])
      for _ in 0..<2 { #expect(try await one.names.fetch(query) == ["a"]) }
      try await other.layer.send(Resource("list", method: .put))
      #expect(try await one.names.fetch(query) == ["a", "1"])
      #expect(origin.requests == ["QUERY", "QUERY*", "PUT", "QUERY*"])
    }
  }

  @Test func `without the store each asks by itself, and memory is validated before its next use`() async throws {
    try await withPair { one, other, _ in
      for server in [one, other] { _ = try await server.names.fetch("list") }
      one.store.isAway.store(true, ordering: .relaxed)
      one.store.isMute.store(true, ordering: .relaxed)
      // For ten seconds and a heartbeat, no message arrives.
      await until {
        clock.advance(by: .milliseconds(500))
        return one.fleet.status == .alone
      }
      await until { one.isStale }
      let count = origin.requests.count
      #expect(try await one.names.fetch("list") == ["a"])
      #expect(origin.requests.dropFirst(count) == ["GET*"])
      // It is fresh now, as without a fleet.
      #expect(try await one.names.fetch("list") == ["a"])
      #expect(origin.requests.count == count + 1)
      one.store.isAway.store(false, ordering: .relaxed)
      one.store.isMute.store(false, ordering: .relaxed)
      await until {
        clock.advance(by: .milliseconds(500))
        return one.fleet.status == .following
      }
    }
  }

  @Test func `memory of a process that was stopped is validated before its next use, though no timer has fired`()
    async throws
  {
    let leaping = LeapingClock(clock)
    let one = await LayerServer(store, clock, origin, leaping: leaping)
    for _ in 0..<2 { #expect(try await one.names.fetch("list") == ["a"]) }
    #expect(origin.requests == ["GET"])
    leaping.leap(by: .seconds(40))
    #expect(try await one.names.fetch("list") == ["a"])
    #expect(origin.requests == ["GET", "GET*"])
    await one.stop()
  }

  @Test func `of the hits in memory within a millisecond, one at most reads the clock of the fleet`() async throws {
    let leaping = LeapingClock(clock)
    let one = await LayerServer(store, clock, origin, leaping: leaping)
    for _ in 0..<2 { #expect(try await one.names.fetch("list") == ["a"]) }
    let reads = leaping.reads.value
    for _ in 0..<100 { #expect(try await one.names.fetch("list") == ["a"]) }
    // The fleet's own work may read it too.
    #expect(leaping.reads.value - reads < 100)
    await one.stop()
  }

  @Test func `a record of an earlier process is compared before its use`() async throws {
    let disk = MemoryPersistence()
    var first: LayerServer? = await server(persistence: disk)
    _ = try await first?.names.fetch("list")
    await until { first?.log.count(.saved) == 1 }
    await first?.stop()
    first = nil
    let other = await server()
    try await other.layer.send(Resource("list", method: .put))
    let again = await server(persistence: disk)
    #expect(try await again.names.fetch("list") == ["a", "1"])
    #expect(origin.requests.last == "GET*")
    await other.stop()
    await again.stop()
  }

  @Test func `a failure is shared for a second, in which the other servers send no request`() async throws {
    try await withPair { one, other, _ in
      origin.change { $0.isDown = true }
      origin.gate.close()
      async let first = TestSupport.error { try await one.names.fetch("list") }
      try await origin.gate.waitForArrival()
      async let second = TestSupport.error { try await other.names.fetch("list") }
      await until { other.fleet.statistics.waiting == 1 }
      origin.gate.open()
      if case .server? = await first {} else { Issue.record("no error of the server") }
      let error = await second
      #expect(error?.reason.contains("another process's request to the server just failed") == true)
      #expect(origin.requests == ["GET"])
    }
  }

  @Test func `a response that comes too late for a change is stale in memory`() async throws {
    try await withPair { one, other, _ in
      origin.gate.close()
      async let names = one.names.fetch("list")
      try await origin.gate.waitForArrival()
      try await other.layer.send(Resource("list", method: .put))
      origin.gate.open()
      _ = try await names
      #expect(try await one.names.fetch("list") == ["a", "1"])
    }
  }

  @Test func `a response that may not be shared is stale after a change on another server`() async throws {
    origin.change { $0.fields = [:] }
    try await withPair { one, other, _ in
      _ = try await one.names.fetch("list")
      _ = try await one.names.fetch("list")
      // Fresh for as long as the configuration says, only in this process.
      #expect(origin.requests == ["GET"])
      try await other.layer.send(Resource("list", method: .put))
      await until { one.isStale }
      #expect(try await one.names.fetch("list") == ["a", "1"])
    }
  }

  @Test func `signing out removes what the scope shares`() async throws {
    try await withPair { one, other, reader in
      _ = try await one.names.fetch("list")
      await untilShared("a", by: reader)
      try await one.layer.removeAll()
      #expect(try await other.names.fetch("list") == ["a"])
      #expect(origin.requests.count == 2)
    }
  }

  @Test func `a response without a content coding is the server's, and none of the others'`() async throws {
    try await withPair { one, other, reader in
      #expect(try await one.names.fetch("list") == ["a"])
      await untilShared("a", by: reader)
      let uncoded = try await other.layer.layer.fetchUncoded(Resource("list"), as: [String].self)
      #expect(uncoded.model == ["a"])
      // Without validators: a 304 would bring back the entity tag of the coded response.
      #expect(origin.requests == ["GET", "GET"])
    }
  }
}
