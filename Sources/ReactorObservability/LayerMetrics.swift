#if Observability
  import CoreMetrics
  import HTTPCaching
  import HTTPTypes
  import ReactorCore
  import ReactorFleet
  import Synchronization

  /// The metrics of one layer. Each is made once, for its dimensions. Durations are in seconds.
  final class LayerMetrics: Sendable {
    private struct Name: Hashable {
      var label: String
      var values: [String]
    }

    /// The dimensions of a counter of fetches, found for each of them.
    private struct Requests: Hashable {
      var source: String
      var isFresh: Bool
      var model: String
    }

    /// The dimensions of a recorder of attempts, found for each of them. The server's address is
    /// made of its parts for the first.
    private struct Attempts: Hashable {
      var method: String
      var authority: String?
      var isPlain: Bool
      var status: Int?
      var error: String?
    }

    private let counters = Handlers<Name, Counter>()
    private let recorders = Handlers<Name, Recorder>()
    private let requestCounters = Handlers<Requests, Counter>()
    /// By source.
    private let flightRecorders = Handlers<String, Recorder>()
    private let attemptRecorders = Handlers<Attempts, Recorder>()

    private let factory: any MetricsFactory
    private let common: [(String, String)]
    private let waitingTime: FloatingPointCounter

    init(_ factory: any MetricsFactory, layer: String?) {
      self.factory = factory
      common = layer.map { [("layer", $0)] } ?? []
      waitingTime = FloatingPointCounter(label: "reactor.fleet.lease.wait.time", dimensions: common, factory: factory)
    }

    func fetched(_ fetch: ModelLayer.InstrumentedFetch, _ result: ModelLayer.InstrumentedFetch.Result) {
      requests(1, source: result.source?.rawValue ?? "none", isFresh: result.isFresh, model: fetch.model)
      if result.hasJoined { counter("reactor.flights.joined").increment() }
      switch result.source {
      case .persistence, .fleet: saved(1, result.source?.rawValue)
      case .network where result.hasJoined: saved(1, "collapsed")
      default: break
      }
    }

    func memoryHits(_ count: Int64, model: String) {
      requests(count, source: "memory", isFresh: true, model: model)
      saved(count, "memory")
    }

    func flown(_ flight: ModelLayer.InstrumentedFlight, _ error: ReactorError?, in duration: Duration) {
      let source = error == nil ? (flight.isShared ? "fleet" : "network") : "none"
      let recorder = flightRecorders.handler(source) {
        Recorder(label: "reactor.flight.duration", dimensions: common + [("source", source)], factory: factory)
      }
      recorder.record(duration.inSeconds)
    }

    func attempted(_ request: HTTPRequest, status: Int?, error: String?, in duration: Duration) {
      let name = Attempts(
        method: request.method.rawValue, authority: request.authority, isPlain: request.scheme == "http",
        status: status, error: error)
      let recorder = attemptRecorders.handler(name) {
        let server = ServerAddress(request)
        var dimensions = [
          ("http.request.method", request.method.conventional), ("server.address", server.host),
          ("server.port", "\(server.port)"),
        ]
        if let status { dimensions.append(("http.response.status_code", "\(status)")) }
        if let type = error ?? status.flatMap({ $0 >= 400 ? "\($0)" : nil }) { dimensions.append(("error.type", type)) }
        return Recorder(label: "http.client.request.duration", dimensions: common + dimensions, factory: factory)
      }
      recorder.record(duration.inSeconds)
    }

    func memory(models: Int, bytes: Int) {
      recorder("reactor.memory.models", aggregate: false).record(models)
      recorder("reactor.memory.bytes", aggregate: false).record(bytes)
    }

    func evicted(_ count: Int64) { counter("reactor.memory.evictions").increment(by: count) }

    func outage(isOver: Bool) { counter("reactor.outages", [("to", isOver ? "over" : "on")]).increment() }

    func fleet(_ status: FleetStatus) {
      for state in [FleetStatus.off, .following, .blind, .alone] {
        recorder("reactor.fleet.state", [("state", "\(state)")], aggregate: false).record(state == status ? 1 : 0)
      }
    }

    func fleet(_ statistics: FleetStatistics, since last: FleetStatistics?) {
      recorder("reactor.fleet.fences.pending", aggregate: false).record(statistics.pendingInvalidations)
      recorder("reactor.fleet.waiting", aggregate: false).record(statistics.waiting)
      if let delay = statistics.messageDelay {
        recorder("reactor.fleet.message.delay", aggregate: false).record(delay.inSeconds)
      }
      func new(_ value: KeyPath<FleetStatistics, Int>) -> Int64 {
        Int64(clamping: statistics[keyPath: value] - (last?[keyPath: value] ?? 0))
      }
      counter("reactor.fleet.lease.waits").increment(by: new(\.waits))
      waitingTime.increment(by: (statistics.waitingTime - (last?.waitingTime ?? .zero)).inSeconds)
      counter("reactor.fleet.breaker.transitions", [("to", "open")]).increment(by: new(\.breakerOpenings))
      counter("reactor.fleet.breaker.transitions", [("to", "closed")]).increment(by: new(\.breakerClosings))
      for (outcome, value) in [
        ("unchanged", \FleetStatistics.checks.unchanged), ("changed", \.checks.changed),
        ("missing", \.checks.missing), ("unreachable", \.checks.unreachable),
      ] {
        counter("reactor.fleet.suspect.checks", [("outcome", outcome)]).increment(by: new(value))
      }
    }

    func operated(_ operation: String, _ outcome: String, in duration: Duration) {
      recorder("reactor.fleet.operation.duration", [("operation", operation), ("outcome", outcome)])
        .record(duration.inSeconds)
    }

    func committed(_ outcome: String) { counter("reactor.fleet.commits", [("outcome", outcome)]).increment() }

    func heard(_ kind: String) { counter("reactor.fleet.messages", [("kind", kind)]).increment() }

    private func requests(_ count: Int64, source: String, isFresh: Bool, model: String) {
      let name = Requests(source: source, isFresh: isFresh, model: model)
      let counter = requestCounters.handler(name) {
        let dimensions = [("source", source), ("fresh", "\(isFresh)"), ("model", model)]
        return Counter(label: "reactor.requests", dimensions: common + dimensions, factory: factory)
      }
      counter.increment(by: count)
    }

    private func saved(_ count: Int64, _ reason: String?) {
      guard let reason else { return }
      counter("reactor.origin.saved_requests", [("why", reason)]).increment(by: count)
    }

    private func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
      counters.handler(Name(label: label, values: dimensions.map(\.1))) {
        Counter(label: label, dimensions: common + dimensions, factory: factory)
      }
    }

    private func recorder(
      _ label: String, _ dimensions: [(String, String)] = [], aggregate: Bool = true
    ) -> Recorder {
      recorders.handler(Name(label: label, values: dimensions.map(\.1))) {
        Recorder(label: label, dimensions: common + dimensions, aggregate: aggregate, factory: factory)
      }
    }
  }

  /// The metrics of one kind, each made for its first use.
  private final class Handlers<Name: Hashable & Sendable, Handler: Sendable>: Sendable {
    private struct Made {
      var handlers: [Name: Handler] = [:]
      /// The first few. Few programs have others, and comparing their names takes a tenth of the
      /// time of hashing one.
      var first: [(name: Name, handler: Handler)] = []

      func handler(_ name: Name) -> Handler? {
        for known in first where known.name == name { return known.handler }
        return first.count < Self.limit ? nil : handlers[name]
      }

      mutating func add(_ handler: Handler, _ name: Name) {
        if first.count < Self.limit { first.append((name, handler)) } else { handlers[name] = handler }
      }

      private static var limit: Int { 8 }
    }

    private let made = Mutex(Made())

    /// Returns the metric of a name. `make` runs without the lock, as it calls the program's
    /// backend. If two callers make one at the same time, the first counts.
    func handler(_ name: Name, make: () -> Handler) -> Handler {
      if let known = made.withLock({ $0.handler(name) }) { return known }
      let new = make()
      return made.withLock { made in
        if let known = made.handler(name) { return known }
        made.add(new, name)
        return new
      }
    }
  }

  /// The server of a request.
  struct ServerAddress {
    var host = ""
    var port = 0

    init(_ request: HTTPRequest) {
      port = request.scheme == "http" ? 80 : 443
      guard let authority = request.authority else { return }
      host = authority
      // The colons of an IPv6 address are in brackets. A search by characters would cost more.
      guard let colon = authority.utf8.lastIndex(of: UInt8(ascii: ":")),
        let own = Int(authority[authority.index(after: colon)...])
      else { return }
      (host, port) = (String(authority[..<colon]), own)
    }
  }

  extension HTTPRequest.Method {
    /// The method as OpenTelemetry's conventions name it, of which there are only so many.
    var conventional: String { Self.known.contains(self) ? rawValue : "_OTHER" }

    private static let known: Set<HTTPRequest.Method> = [
      .get, .head, .query, .post, .put, .delete, .connect, .options, .trace, .patch,
    ]
  }

  extension ReactorError {
    /// The kind of the error for `error.type`, of which there are only so many.
    var name: String {
      switch self {
      case .network: "network"
      case .timedOut: "timed_out"
      case .noConnectivity: "no_connectivity"
      case .server(let response, _): "\(response.status.code)"
      case .authentication: "authentication"
      case .parser: "parser"
      case .persistence: "persistence"
      case .notCached: "not_cached"
      case .invalidResource: "invalid_resource"
      case .cancelled: "cancelled"
      case .deadlock: "deadlock"
      case .streamingUnsupported: "streaming_unsupported"
      }
    }
  }
#endif
