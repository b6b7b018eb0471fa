#if Observability
  import CoreMetrics
  import Foundation
  import HTTPTypes
  import InMemoryTracing
  import MetricsTestKit
  import ReactorCore
  import ReactorFleet
  import ReactorObservability
  import ReactorTesting
  import Testing
  import Tracing

  /// Two servers over one store, each with its own instrument.
  private struct Servers {
    let clock = TestClock()
    let store: MemoryFleetStore
    let transport = ScriptedTransport()
    let tracer = InMemoryTracer()
    let metrics = [TestMetrics(), TestMetrics()]

    init() {
      let clock = clock
      store = MemoryFleetStore(now: { UInt64(clock.wallClock().timeIntervalSince1970 * 1_000_000) })
    }

    /// Runs `body` with a reactor of each server, and ends both fleets afterwards.
    func run(
      makesSpans: Bool = false, _ body: ([Reactor<[String]>], [Fleet]) async throws -> Void
    ) async throws {
      let servers = try metrics.map { metrics in
        let observability = Observability(tracer: tracer, metrics: metrics)
        var configuration = FleetConfiguration()
        (configuration.clock, configuration.now) = (clock, clock.wallClock)
        configuration.refreshesEarly = false
        let fleet = Fleet(observability.observing(store, makesSpans: makesSpans), configuration: configuration)
        var own = ReactorConfiguration()
        (own.clock, own.now, own.instrument) = (clock, clock.wallClock, observability)
        let layer = ModelLayer(
          baseURL: try #require(URL(string: "https://api.example.com")), transport: transport,
          reachability: .always, configuration: own, extensions: [.fleet(fleet)])
        return (fleet, layer.reactor([String].self))
      }
      let running = servers.map { fleet, _ in Task { try? await fleet.run() } }
      for (fleet, _) in servers { while fleet.status != .following { await Task.yield() } }
      try await body(servers.map(\.1), servers.map(\.0))
      for task in running {
        task.cancel()
        await task.value
      }
    }

    func total(_ server: Int, _ label: String, _ dimensions: [String: String] = [:]) -> Int64 {
      metrics[server].counters(label: label).filter { counter in
        dimensions.allSatisfy { name, value in counter.dimensions.contains { $0 == (name, value) } }
      }
      .map(\.totalValue).reduce(0, +)
    }

    func operations(_ server: Int) -> Set<String> {
      Set(
        metrics[server].recorders(label: "reactor.fleet.operation.duration")
          .map { $0.dimensions.map(\.1).joined(separator: " ") })
    }
  }

  @Suite("Observability of a fleet", .timeLimit(.minutes(3)))
  struct FleetObservabilityTests {
    private let servers = Servers()
    private let fields: HTTPFields = [.cacheControl: "max-age=600", .eTag: "\"1\""]

    @Test func `a fetch that another server's response answers has the source fleet, and saves a request`() async throws
    {
      servers.transport.answer("/names", with: .json("[\"a\"]", fields: fields))
      try await servers.run { reactors, _ async throws in
        #expect(try await reactors[0].fetch("names") == ["a"])
        while servers.total(0, "reactor.fleet.commits", ["outcome": "kept"]) == 0 { await Task.yield() }
        #expect(try await reactors[1].fetch("names") == ["a"])
        #expect(servers.transport.requests.count == 1)
        #expect(servers.total(0, "reactor.requests", ["source": "network"]) == 1)
        #expect(servers.total(1, "reactor.requests", ["source": "fleet"]) == 1)
        #expect(servers.total(1, "reactor.origin.saved_requests", ["why": "fleet"]) == 1)
        let fetches = servers.tracer.finishedSpans.filter { $0.operationName == "reactor.fetch" }
        let sources = fetches.compactMap { span -> String? in
          if case .string(let text) = span.attributes.get("reactor.source")?.toSpanAttribute() { text } else { nil }
        }
        #expect(sources == ["network", "fleet"])
      }
    }

    @Test func `each operation of the store is a duration, and each commit is counted by its end`() async throws {
      servers.transport.answer("/names", with: .json("[\"a\"]", fields: fields))
      try await servers.run { reactors, _ async throws in
        _ = try await reactors[0].fetch("names")
        while servers.total(0, "reactor.fleet.commits", ["outcome": "kept"]) == 0 { await Task.yield() }
        await reactors[0].invalidate("names")
        while servers.total(1, "reactor.fleet.messages", ["kind": "fenced"]) == 0 { await Task.yield() }
        #expect(servers.operations(0).isSuperset(of: ["read ok", "begin ok", "commit ok", "fence ok"]))
        #expect(servers.tracer.finishedSpans.allSatisfy { !$0.operationName.hasPrefix("reactor.fleet") })
      }
    }

    @Test func `a wait for another server's request is counted, with its time`() async throws {
      let gate = Gate()
      servers.transport.answer("/names", with: .json("[\"a\"]", fields: fields).held(at: gate))
      try await servers.run { reactors, fleets async throws in
        let first = Task { try await reactors[0].fetch("names") }
        try await gate.waitForArrival()
        let second = Task { try await reactors[1].fetch("names") }
        while fleets[1].statistics.waiting == 0 { await Task.yield() }
        #expect(await report(fleets[1])["reactor.fleet.waiting"] == 1)
        // Until its lease would be over, if it were not renewed.
        while fleets[1].statistics.waits == 0 {
          servers.clock.advance(by: .milliseconds(100))
          await Task.yield()
        }
        gate.open()
        #expect(try await (first.value, second.value) == (["a"], ["a"]))
        let numbers = fleets[1].statistics
        #expect(numbers.waits >= 1 && numbers.waitingTime >= .seconds(2) && numbers.waiting == 0)
        let report = await report(fleets[1])
        #expect(report["reactor.fleet.lease.waits"] == Double(numbers.waits))
        #expect(report["reactor.fleet.lease.wait.time"] == (numbers.waitingTime / .seconds(1)).rounded(.down))
        #expect(fleets[0].statistics.waits == 0)
      }
    }

    @Test func `a copy that another server has replaced is counted as compared, and messages have a delay`()
      async throws
    {
      servers.transport.answer("/names", with: .json("[\"a\"]", fields: fields))
      try await servers.run { reactors, fleets async throws in
        _ = try await reactors[0].fetch("names")
        while servers.total(0, "reactor.fleet.commits", ["outcome": "kept"]) == 0 { await Task.yield() }
        #expect(try await reactors[1].fetch("names") == ["a"])
        servers.transport.answer(
          "/names", with: .json("[\"b\"]", fields: [.cacheControl: "max-age=600", .eTag: "\"2\""]))
        _ = try await reactors[0].fetchFromNetwork("names")
        while try await reactors[1].fetch("names") != ["b"] { await Task.yield() }
        let report = await report(fleets[1])
        #expect(report["reactor.fleet.suspect.checks changed"] == 1)
        for outcome in ["unchanged", "missing", "unreachable"] {
          #expect(report["reactor.fleet.suspect.checks \(outcome)"] == 0)
        }
        #expect(report["reactor.fleet.message.delay"] == 0)
      }
    }

    @Test func `changes that wait for an absent store are a gauge, and giving it a rest is counted`() async throws {
      var configuration = FleetConfiguration()
      configuration.clock = servers.clock
      let fleet = Fleet(AbsentStore(), configuration: configuration)
      for number in 0..<6 {
        await #expect(throws: FleetError.self) { try await fleet.invalidate("https://api.example.com/\(number)") }
      }
      let report = await report(fleet)
      #expect(report["reactor.fleet.fences.pending"] == 6)
      #expect(report["reactor.fleet.breaker.transitions open"] == 1)
      #expect(report["reactor.fleet.breaker.transitions closed"] == 0)
    }

    /// Returns the totals of counters and the values of gauges after one report.
    private func report(_ fleet: Fleet) async -> [String: Double] {
      let metrics = TestMetrics()
      let observability = Observability(tracer: servers.tracer, metrics: metrics)
      let running = Task { await observability.run(fleet, clock: TestClock()) }
      running.cancel()
      await running.value
      var values: [String: Double] = [:]
      for counter in metrics.counters {
        let name = ([counter.label] + counter.dimensions.map(\.1)).joined(separator: " ")
        values[name] = Double(counter.totalValue)
      }
      for recorder in metrics.recorders { values[recorder.label] = recorder.lastValue }
      return values
    }

    @Test func `an operation that fails is named by the kind of its error`() async throws {
      let metrics = TestMetrics()
      let observability = Observability(tracer: servers.tracer, metrics: metrics)
      let absent = observability.observing(AbsentStore(), makesSpans: true)
      await #expect(throws: FleetError.self) { () async throws in
        _ = try await absent.generation(of: "a secret scope", renews: false)
      }
      let recorder = try #require(metrics.recorders(label: "reactor.fleet.operation.duration").first)
      #expect(recorder.dimensions.map(\.1) == ["generation", "unavailable"])
      let span = try #require(servers.tracer.finishedSpans.first)
      #expect(span.operationName == "reactor.fleet.generation" && span.kind == .client)
      #expect(span.attributes.get("error.type")?.toSpanAttribute() == .string("unavailable"))
      #expect(!"\(span)".contains("secret"))
    }

    @Test func `its spans are beneath the fetch, and none for a beat`() async throws {
      servers.transport.answer("/names", with: .json("[\"a\"]", fields: fields))
      try await servers.run(makesSpans: true) { reactors, _ async throws in
        _ = try await reactors[0].fetch("names")
        let spans = servers.tracer.finishedSpans
        let fetch = try #require(spans.first { $0.operationName == "reactor.fetch" })
        let begin = try #require(spans.first { $0.operationName == "reactor.fleet.begin" })
        #expect(begin.traceID == fetch.traceID)
        #expect(!spans.contains { $0.operationName.hasSuffix("beat") })
      }
    }
  }

  /// A store that is away.
  private struct AbsentStore: FleetStore {
    func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord {
      throw away
    }
    func begin(
      _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
    ) async throws(FleetError) -> FleetLeaseAnswer { throw away }
    func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool { throw away }
    func commit(
      _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
    ) async throws(FleetError) -> FleetCommitResult { throw away }
    func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError) { throw away }
    func fence(
      _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
    ) async throws(FleetError) -> FleetVersion { throw away }
    func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration { throw away }
    func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat { throw away }
    func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError) {
      throw away
    }
    func nodes() async throws(FleetError) -> Int { throw away }

    private var away: FleetError { .unavailable("away") }
  }
#endif
