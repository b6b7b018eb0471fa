#if Observability
  import CoreMetrics
  import Foundation
  import HTTPTypes
  import InMemoryLogging
  import InMemoryTracing
  import Logging
  import MetricsTestKit
  import ReactorCore
  import ReactorFleet
  import ReactorObservability
  import ReactorTesting
  import TestSupport
  import Testing
  import Tracing

  /// A layer with an instrument whose spans, metrics and lines stay in memory.
  private struct Watched {
    let tracer = InMemoryTracer()
    let metrics = TestMetrics()
    let lines = InMemoryLogHandler()
    let observability: Observability
    let bench: Bench

    init(
      level: Logger.Level = .info, hasTracer: Bool = true, configure: (inout ReactorConfiguration) -> Void = { _ in }
    ) {
      let lines = lines
      var logger = Logger(label: "test") { _ in lines }
      logger.logLevel = level
      let observability = Observability(
        logger: logger, tracer: hasTracer ? tracer : NoOpTracer(), metrics: metrics, layer: "news")
      self.observability = observability
      bench = Bench {
        $0.instrument = observability
        $0.staleIfError = .seconds(3_600)
        $0.freshFor = .seconds(60)
        configure(&$0)
      }
      bench.transport.answer("/v1/note", with: .json(Note(1, "one").json))
    }

    var notes: Reactor<Note> { bench.notes }
    var spans: [FinishedInMemorySpan] { tracer.finishedSpans }
    func spans(_ name: String) -> [FinishedInMemorySpan] { spans.filter { $0.operationName == name } }

    /// Waits for the spans of so many flights. A flight ends after its waiters have their answers.
    func flights(_ count: Int = 1) async -> [FinishedInMemorySpan] {
      while spans("reactor.flight").count < count { await Task.yield() }
      return spans("reactor.flight")
    }

    func total(_ label: String, _ dimensions: [String: String]) -> Int64 {
      metrics.counters(label: label).filter { counter in
        dimensions.allSatisfy { name, value in counter.dimensions.contains { $0 == (name, value) } }
      }
      .map(\.totalValue).reduce(0, +)
    }
  }

  extension FinishedInMemorySpan {
    fileprivate func text(_ name: String) -> String? {
      switch attributes.get(name)?.toSpanAttribute() {
      case .string(let text): text
      case .int32(let number): "\(number)"
      case .int64(let number): "\(number)"
      case .bool(let value): "\(value)"
      default: nil
      }
    }
  }

  @Suite("Observability", .timeLimit(.minutes(3)))
  struct ObservabilityTests {
    @Test func `a fetch that asks the server is a span, with its flight and its attempt beneath`() async throws {
      let watched = Watched()
      let root = watched.tracer.startSpan("root", context: .topLevel)
      try await ServiceContext.$current.withValue(root.context) { _ = try await watched.notes.fetch("note") }
      root.end()
      let fetch = try #require(watched.spans("reactor.fetch").first)
      let flight = try #require(await watched.flights().first)
      let attempt = try #require(watched.spans("GET").first)
      #expect(watched.spans.count == 4)
      #expect(fetch.parentSpanID == root.spanID)
      #expect(flight.parentSpanID == fetch.spanID)
      #expect(attempt.parentSpanID == flight.spanID)
      #expect(attempt.kind == .client)
      #expect(fetch.text("reactor.source") == "network")
      #expect(fetch.text("reactor.policy") == "cacheFirst")
      #expect(fetch.text("reactor.stale") == "false")
      #expect(fetch.text("reactor.joined") == "false")
      #expect(flight.text("reactor.parties") == "1")
      #expect(attempt.text("http.request.method") == "GET")
      #expect(attempt.text("server.address") == "api.example.com")
      #expect(attempt.text("server.port") == "443")
      #expect(attempt.text("url.full") == "https://api.example.com/v1/note")
      #expect(attempt.text("http.response.status_code") == "200")
      #expect(attempt.text("http.response.body.size") == "\(Note(1, "one").json.utf8.count)")
      #expect(attempt.text("http.request.resend_count") == nil)
      try await watched.bench.waitUntilNothingWaits()
    }

    @Test func `a memory hit has no span and no event, and is counted`() async throws {
      let watched = Watched()
      _ = try await watched.notes.fetch("note")
      let before = watched.spans.count
      for _ in 0..<10 { _ = try await watched.notes.fetch("note") }
      #expect(watched.spans.count == before)
      #expect(watched.bench.layer.statistics.memoryHitsByModel["Note"] == 10)
      #expect(watched.bench.layer.statistics.models == 1)
      let reports = Task { await watched.observability.run(watched.bench.layer, clock: watched.bench.clock) }
      try await watched.bench.clock.waitForSleepers(count: 1)
      #expect(watched.total("reactor.requests", ["source": "memory", "model": "Note", "layer": "news"]) == 10)
      #expect(watched.total("reactor.origin.saved_requests", ["why": "memory"]) == 10)
      _ = try await watched.notes.fetch("note")
      watched.bench.clock.advance(by: .seconds(10))
      try await watched.bench.clock.waitForSleeper(until: watched.bench.clock.now.advanced(by: .seconds(10)))
      reports.cancel()
      await reports.value
      #expect(watched.total("reactor.requests", ["source": "memory"]) == 11)
      #expect(watched.metrics.recorders(label: "reactor.memory.models").first?.lastValue == 1)
      #expect(watched.total("reactor.memory.evictions", [:]) == 0)
      watched.bench.layer.evictUnused()
      #expect(watched.bench.layer.statistics.evictions == 1)
      let last = Task { await watched.observability.run(watched.bench.layer, clock: watched.bench.clock) }
      last.cancel()
      await last.value
      #expect(watched.total("reactor.memory.evictions", [:]) == 1)
      try await watched.bench.waitUntilNothingWaits()
    }

    @Test func `a caller that joins a flight links to its span, and the flight counts its callers`() async throws {
      let watched = Watched()
      let gate = Gate()
      watched.bench.transport.answer("/v1/note", with: .json(Note(1, "one").json).held(at: gate))
      let first = Task { try await watched.notes.fetch("note") }
      try await gate.waitForArrival()
      let second = Task { try await watched.notes.fetch("note") }
      try await watched.bench.log.wait(for: .joined)
      gate.open()
      _ = try await (first.value, second.value)
      try await watched.bench.waitUntilNothingWaits()
      let flight = try #require(await watched.flights().first)
      #expect(flight.text("reactor.parties") == "2")
      let joined = try #require(watched.spans("reactor.fetch").first { $0.text("reactor.joined") == "true" })
      #expect(joined.links.map { $0.context.inMemorySpanContext?.spanID } == [flight.spanID])
      #expect(watched.spans("reactor.fetch").count == 2)
      #expect(watched.total("reactor.flights.joined", [:]) == 1)
      #expect(watched.total("reactor.origin.saved_requests", ["why": "collapsed"]) == 1)
      #expect(watched.spans("GET").count == 1)
    }

    @Test func `a record on disk is its source, and makes no request`() async throws {
      let persistence = MemoryPersistence()
      let first = Bench(persistence: persistence)
      first.transport.answer("/v1/note", with: .json(Note(1, "one").json))
      _ = try await first.notes.fetch("note")
      let tracer = InMemoryTracer()
      let again = first.restarted { $0.instrument = Observability(tracer: tracer, metrics: TestMetrics()) }
      _ = try await again.notes.fetch("note")
      #expect(tracer.finishedSpans.map(\.operationName) == ["reactor.fetch"])
      #expect(tracer.finishedSpans.first?.text("reactor.source") == "persistence")
      try await again.waitUntilNothingWaits()
    }

    @Test func `the context of the trace is in the fields of the request`() async throws {
      let watched = Watched()
      _ = try await watched.notes.fetch("note")
      let attempt = try #require(watched.spans("GET").first)
      let fields = try #require(watched.bench.transport.requests.first).request.headerFields
      let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
      #expect(fields[name] == attempt.spanID)
    }

    @Test func `each attempt is a span, and says how often the request was sent before`() async throws {
      let watched = Watched {
        $0.retry = RetryPolicy(attempts: 3, firstDelay: .zero)
      }
      watched.bench.transport.answer(
        "/v1/note", with: .response(.serviceUnavailable), .json(Note(1, "one").json))
      _ = try await watched.notes.fetch("note")
      let attempts = watched.spans("GET")
      #expect(attempts.map { $0.text("http.request.resend_count") } == [nil, "1"])
      #expect(attempts.map { $0.text("http.response.status_code") } == ["503", "200"])
      #expect(attempts.map { $0.text("error.type") } == ["503", nil])
      #expect(attempts.map { $0.status?.code } == [.error, nil])
      let durations = watched.metrics.recorders(label: "http.client.request.duration")
      #expect(durations.count == 2)
      try await watched.bench.waitUntilNothingWaits()
    }

    /// The fields of the last request, and the metrics of a failed attempt, a successful attempt,
    /// and an attempt whose fetch fails.
    private func trial(hasTracer: Bool) async throws -> (fields: HTTPFields, metrics: [String]) {
      let watched = Watched(hasTracer: hasTracer) { $0.retry = RetryPolicy(attempts: 2, firstDelay: .zero) }
      watched.bench.transport.answer("/v1/note", with: .response(.serviceUnavailable), .json(Note(1, "one").json))
      _ = try await watched.notes.fetch("note")
      let failure = ScriptedTransport.Answer.failure(TransportError.connectionFailed("away"))
      watched.bench.transport.answer("/v1/other", with: failure, failure)
      await #expect(throws: ReactorError.self) { () async throws in _ = try await watched.notes.fetch("other") }
      try await watched.bench.waitUntilNothingWaits()
      var metrics: [String] = []
      func note(_ label: String, _ dimensions: [(String, String)], _ count: Int64) {
        metrics.append("\(label) \(dimensions.map { "\($0)=\($1)" }.joined(separator: " ")): \(count)")
      }
      for counter in watched.metrics.counters { note(counter.label, counter.dimensions, counter.totalValue) }
      for recorder in watched.metrics.recorders {
        note(recorder.label, recorder.dimensions, Int64(recorder.values.count))
      }
      #expect(watched.spans.isEmpty != hasTracer)
      return (try #require(watched.bench.transport.requests.last).request.headerFields, metrics.sorted())
    }

    @Test func `without a tracer, every metric is the same, and requests have no fields of a trace`() async throws {
      let (with, without) = (try await trial(hasTracer: true), try await trial(hasTracer: false))
      #expect(without.metrics == with.metrics && without.metrics.count >= 6)
      let name = try #require(HTTPField.Name(InMemoryTracer.spanIDKey))
      #expect(with.fields[name] != nil && without.fields[name] == nil)
    }

    @Test func `a stale fallback is reported, and its failure belongs to the flight`() async throws {
      let watched = Watched()
      _ = try await watched.notes.fetch("note")
      watched.bench.clock.advance(by: .seconds(60))
      watched.bench.transport.answer("/v1/note", with: .failure(TransportError.connectionFailed("https://u:SECRET@x")))
      _ = try await watched.notes.fetch("note")
      let fetch = try #require(watched.spans("reactor.fetch").last)
      #expect(fetch.text("reactor.source") == "stand_in")
      #expect(fetch.text("reactor.stale") == "true")
      #expect(fetch.text("error.type") == nil)
      #expect(await watched.flights(2).last?.text("error.type") == "network")
      #expect(watched.spans("GET").last?.errors.isEmpty == true)
      #expect(watched.total("reactor.requests", ["source": "stand_in", "fresh": "false"]) == 1)
    }

    @Test func `a revalidation in the background is a separate trace, with a link`() async throws {
      let watched = Watched()
      let answer = ScriptedTransport.Answer.json(
        Note(1, "one").json, headers: [.cacheControl: "max-age=60, stale-while-revalidate=600"])
      watched.bench.transport.answer("/v1/note", with: answer)
      _ = try await watched.notes.fetch("note")
      watched.bench.clock.advance(by: .seconds(61))
      let root = watched.tracer.startSpan("root", context: .topLevel)
      try await ServiceContext.$current.withValue(root.context) { _ = try await watched.notes.fetch("note") }
      root.end()
      try await watched.bench.log.wait(for: .saved, count: 2)
      try await watched.bench.waitUntilNothingWaits()
      let flight = try #require(await watched.flights(2).last)
      #expect(flight.parentSpanID == nil)
      #expect(flight.traceID != root.traceID)
      #expect(flight.links.map { $0.context.inMemorySpanContext?.spanID } == [root.spanID])
      #expect(watched.spans("reactor.fetch").count == 1)
    }

    @Test func `an outage is one line when it begins and one when it ends`() async throws {
      let watched = Watched { $0.remembersOutages = true }
      _ = try await watched.notes.fetch("note")
      watched.bench.clock.advance(by: .seconds(60))
      watched.bench.transport.answer("/v1/note", with: .failure(TransportError.notConnected("refused")))
      for _ in 0..<5 { _ = try await watched.notes.fetch("note") }
      watched.bench.transport.answer("/v1/note", with: .json(Note(1, "two").json))
      watched.bench.clock.advance(by: .seconds(2))
      _ = try await watched.notes.fetch("note")
      try await watched.bench.log.wait(for: .outageEnded)
      try await watched.bench.waitUntilNothingWaits()
      #expect(watched.lines.entries.map { "\($0.message)" } == ["outage began", "outage ended"])
      #expect(watched.lines.entries.allSatisfy { $0.level == .info })
      #expect(watched.lines.entries.first?.metadata["reactor.key"] == "GET https://api.example.com/v1/note")
      #expect(watched.total("reactor.outages", ["to": "on"]) == 1)
    }

    @Test func `at trace, each event is a line while it runs, and at info no event is`() async throws {
      for (level, count) in [(Logger.Level.trace, true), (.info, false)] {
        let watched = Watched(level: level)
        let reports = Task { await watched.observability.run(watched.bench.layer, clock: watched.bench.clock) }
        try await watched.bench.clock.waitForSleepers(count: 1)
        _ = try await watched.notes.fetch("note")
        reports.cancel()
        await reports.value
        #expect(watched.lines.entries.isEmpty != count)
        try await watched.bench.waitUntilNothingWaits()
      }
    }

    @Test func `a secret of the URL is in no span, line or metric`() async throws {
      let watched = Watched(level: .trace) { $0.remembersOutages = true }
      let reports = Task { await watched.observability.run(watched.bench.layer, clock: watched.bench.clock) }
      try await watched.bench.clock.waitForSleepers(count: 1)
      let resource = Resource("note", query: ["access_token": "HUSH"], headers: [.authorization: "Bearer HUSH"])
      _ = try? await watched.notes.fetch(resource)
      reports.cancel()
      await reports.value
      var seen = watched.spans.flatMap { span in
        var texts = [span.operationName]
        span.attributes.forEach { texts.append("\($0) \($1)") }
        return texts
      }
      seen += watched.lines.entries.map { "\($0.message) \($0.metadata)" }
      seen += watched.metrics.counters.map { "\($0.label) \($0.dimensions)" }
      seen += watched.metrics.recorders.map { "\($0.label) \($0.dimensions)" }
      #expect(seen.contains { $0.contains("access_token") })
      #expect(!seen.contains { $0.contains("HUSH") })
      try await watched.bench.waitUntilNothingWaits()
    }

    @Test func `a fleet's connection is a line and a gauge`() throws {
      let watched = Watched()
      watched.observability.fleetChanged(.following, nil)
      watched.observability.fleetChanged(.alone, nil)
      #expect(watched.lines.entries.map { "\($0.message)" } == ["fleet following", "fleet alone"])
      let gauges = watched.metrics.recorders(label: "reactor.fleet.state")
      #expect(gauges.filter { $0.lastValue == 1 }.map { $0.dimensions.last?.1 } == ["alone"])
    }
  }
#endif
