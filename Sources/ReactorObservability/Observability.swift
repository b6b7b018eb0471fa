#if Observability
  public import CoreMetrics
  import HTTPCaching
  public import HTTPTypes
  public import Foundation
  public import Logging
  public import ReactorCore
  public import ReactorFleet
  public import Tracing

  /// Lets operators see a layer: spans for what memory cannot answer, metrics, and a log line for
  /// each change of state.
  ///
  /// ```swift
  /// var configuration = ReactorConfiguration()
  /// configuration.instrument = Observability(logger: logger)
  /// ```
  ///
  /// Spans, metrics and log lines name no header field, and of URLs what a
  /// `ReactorEvent` names: the values of secret query items are digests. No metric
  /// has a key, a URL or a scope as a dimension.
  ///
  /// The guide <doc:Telemetry> lists the names.
  public final class Observability: ModelLayer.Instrument {
    let logger: Logger?
    let metrics: LayerMetrics
    private let ownTracer: (any Tracer)?

    /// The given tracer, else the bootstrapped one. `nil` without either, since unused spans would
    /// cost as much. The program may bootstrap a tracer after it has created this object.
    var tracer: (any Tracer)? {
      // Without a tracer, nothing more is done; even looking one up takes a microsecond.
      if ownTracer == nil, InstrumentationSystem.instrument is NoOpInstrument { return nil }
      let tracer = ownTracer ?? InstrumentationSystem.tracer
      return tracer is NoOpTracer ? nil : tracer
    }

    /// Creates an instrument for `ReactorConfiguration.instrument`.
    ///
    /// ```swift
    /// let observability = Observability(logger: Logger(label: "catalog"))
    /// configuration.instrument = observability
    /// ```
    ///
    /// - Parameters:
    ///   - logger: receives a line for each change of state, at `info`, and at `trace` each event
    ///     of a layer that ``run(_:every:clock:)-(ModelLayer,_,_)`` runs for. Default: `nil`, for
    ///     no lines.
    ///   - tracer: makes the spans. Default: `nil`, for the tracer of `InstrumentationSystem`.
    ///   - metrics: makes the metrics. Default: the factory of `MetricsSystem`.
    ///   - layer: the value of the dimension `layer` of all metrics, for programs with several
    ///     layers. Default: `nil`, for metrics without that dimension.
    public init(
      logger: Logger? = nil, tracer: (any Tracer)? = nil, metrics: any MetricsFactory = MetricsSystem.factory,
      layer: String? = nil
    ) {
      self.logger = logger
      ownTracer = tracer
      self.metrics = LayerMetrics(metrics, layer: layer)
    }

    /// Reports the numbers of a layer until the task is cancelled: the models in memory, their
    /// size, how many were evicted, and the fetches that memory has answered, which make no event.
    /// At the log level `trace`, each event of the layer is a line.
    ///
    /// - Parameters:
    ///   - layer: the layer. It is retained until the task is cancelled.
    ///   - interval: the time between two reports. Default: ten seconds.
    ///   - clock: the clock that measures it. Default: `ContinuousClock`.
    public func run(
      _ layer: ModelLayer, every interval: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
    ) async {
      let token = logger.flatMap { logger in
        logger.logLevel <= .trace ? layer.observeEvents { logger.trace("\($0)") } : nil
      }
      defer { token?.cancel() }
      var last: ModelLayer.Statistics?
      repeat { last = report(layer.statistics, since: last) } while (try? await clock.sleep(for: interval)) != nil
      _ = report(layer.statistics, since: last)
    }

    private func report(_ statistics: ModelLayer.Statistics, since last: ModelLayer.Statistics?)
      -> ModelLayer.Statistics
    {
      metrics.memory(models: statistics.models, bytes: statistics.bytes)
      let evicted = statistics.evictions.subtractingReportingOverflow(last?.evictions ?? 0)
      if !evicted.overflow { metrics.evicted(Int64(clamping: evicted.partialValue)) }
      for (model, count) in statistics.memoryHitsByModel {
        let new = count.subtractingReportingOverflow(last?.memoryHitsByModel[model] ?? 0)
        // A reactor that was released has taken its hits along.
        if !new.overflow, new.partialValue > 0 { metrics.memoryHits(Int64(clamping: new.partialValue), model: model) }
      }
      return statistics
    }

    /// Reports the numbers of a fleet until the task is cancelled: the invalidations and the
    /// requests that wait, the time that they have waited, how often its store was unreachable,
    /// what became of copies that may have been out of date, and how late messages are.
    ///
    /// - Parameters:
    ///   - fleet: the fleet. It is retained until the task is cancelled.
    ///   - interval: the time between two reports. Default: ten seconds.
    ///   - clock: the clock that measures it. Default: `ContinuousClock`.
    public func run(
      _ fleet: Fleet, every interval: Duration = .seconds(10), clock: any Clock<Duration> = ContinuousClock()
    ) async {
      var last: FleetStatistics?
      func report() {
        let statistics = fleet.statistics
        metrics.fleet(statistics, since: last)
        last = statistics
      }
      repeat { report() } while (try? await clock.sleep(for: interval)) != nil
      report()
    }

    /// Logs a change of a fleet's connection, for
    /// `FleetConfiguration.statusChanged`.
    ///
    /// - Parameters:
    ///   - status: the connection from now on.
    ///   - error: the latest error of the store, if there is one.
    public func fleetChanged(_ status: FleetStatus, _ error: FleetError?) {
      metrics.fleet(status)
      var metadata: Logger.Metadata = ["reactor.fleet.status": "\(status)"]
      if let error { metadata["reactor.fleet.reason"] = "\(error)" }
      logger?.info("fleet \(status)", metadata: metadata)
    }

    /// Logs the start or the end of an outage.
    public func stateChanged(_ event: ReactorEvent) {
      var metadata: Logger.Metadata = ["reactor.key": "\(event.key)", "reactor.model": "\(event.model)"]
      switch event.kind {
      case .outageBegan:
        metrics.outage(isOver: false)
        logger?.info("outage began", metadata: metadata)
      case .outageEnded(let duration):
        metrics.outage(isOver: true)
        metadata["reactor.outage.duration"] = "\(duration)"
        logger?.info("outage ended", metadata: metadata)
      default: break
      }
    }

    /// Runs a fetch in the span `reactor.fetch`, and links it to the flight that it has joined.
    public func fetch(_ fetch: ModelLayer.InstrumentedFetch, _ body: () async -> ModelLayer.InstrumentedFetch.Result)
      async
    {
      guard let tracer else { return metrics.fetched(fetch, await body()) }
      let span: any Span = tracer.startSpan("reactor.fetch")
      let result = await ServiceContext.$current.withValue(span.context) { await body() }
      metrics.fetched(fetch, result)
      if span.isRecording {
        span.attributes["reactor.policy"] = "\(fetch.policy)"
        span.attributes["reactor.model"] = fetch.model
        span.attributes["reactor.stale"] = result.source != nil && !result.isFresh
        span.attributes["reactor.joined"] = result.hasJoined
        if let source = result.source { span.attributes["reactor.source"] = source.rawValue }
        if result.hasJoined, let context = result.flight?.attachment as? ServiceContext {
          span.addLink(SpanLink(context: context, attributes: [:]))
        }
        span.fail(with: result.error?.name)
      }
      span.end()
    }

    /// Runs the request of a flight in the span `reactor.flight`. In the background, the span
    /// starts a new trace, with a link to the fetch that caused it.
    public func flight(_ flight: ModelLayer.InstrumentedFlight, _ body: () async -> ReactorError?) async {
      guard let tracer else {
        let start = ContinuousClock.now
        let error = await body()
        return metrics.flown(flight, error, in: ContinuousClock.now - start)
      }
      let occasion = ServiceContext.current
      let context = flight.isInBackground ? .topLevel : occasion ?? .topLevel
      let span: any Span = tracer.startSpan("reactor.flight", context: context)
      if flight.isInBackground, let occasion { span.addLink(SpanLink(context: occasion, attributes: [:])) }
      flight.attachment = span.context
      let start = ContinuousClock.now
      let error = await ServiceContext.$current.withValue(span.context) { await body() }
      metrics.flown(flight, error, in: ContinuousClock.now - start)
      if span.isRecording {
        span.attributes["reactor.model"] = flight.model
        span.attributes["reactor.parties"] = flight.parties
        span.attributes["reactor.shared"] = flight.isShared
        span.fail(with: error?.name)
      }
      span.end()
    }

    /// Sends an attempt in a client span named by its method, with the context of the trace in the
    /// request's fields.
    ///
    /// - Throws: the error of `send`. It is not recorded in the span, since it may name the URL.
    public func attempt(
      _ attempt: ModelLayer.InstrumentedAttempt, _ send: (HTTPRequest) async throws -> (HTTPResponse, Data)
    ) async throws -> (HTTPResponse, Data) {
      guard let tracer else {
        let start = ContinuousClock.now
        do {
          let answer = try await send(attempt.request)
          note(attempt, status: answer.0.status.code, since: start)
          return answer
        } catch {
          note(attempt, error: errorType(error), since: start)
          throw error
        }
      }
      let span: any Span = tracer.startSpan(attempt.request.method.conventional, ofKind: .client)
      defer { span.end() }
      var request = attempt.request
      tracer.inject(span.context, into: &request.headerFields, using: FieldInjector())
      if span.isRecording { span.describe(attempt) }
      let start = ContinuousClock.now
      do {
        let answer = try await ServiceContext.$current.withValue(span.context) { try await send(request) }
        note(attempt, status: answer.0.status.code, since: start)
        let (status, bytes) = (answer.0.status.code, answer.1.count)
        if span.isRecording {
          span.updateAttributes {
            $0["http.response.status_code"] = status
            $0["http.response.body.size"] = bytes
          }
        }
        span.fail(with: status >= 400 ? "\(status)" : nil)
        return answer
      } catch {
        note(attempt, error: errorType(error), since: start)
        span.fail(with: errorType(error))
        throw error
      }
    }

    private func note(
      _ attempt: ModelLayer.InstrumentedAttempt, status: Int? = nil, error: String? = nil,
      since start: ContinuousClock.Instant
    ) {
      metrics.attempted(attempt.request, status: status, error: error, in: ContinuousClock.now - start)
    }

    private func errorType(_ error: any Error) -> String {
      (error as? ReactorError)?.name ?? String(describing: type(of: error))
    }
  }

  extension Span {
    fileprivate func fail(with type: String?) {
      guard let type else { return }
      attributes["error.type"] = type
      setStatus(SpanStatus(code: .error))
    }

    fileprivate func describe(_ attempt: ModelLayer.InstrumentedAttempt) {
      let (method, server) = (attempt.request.method.conventional, ServerAddress(attempt.request))
      updateAttributes {
        $0["http.request.method"] = method
        if method == "_OTHER" { $0["http.request.method_original"] = attempt.request.method.rawValue }
        $0["server.address"] = server.host
        $0["server.port"] = server.port
        $0["url.full"] = attempt.key.url
        if attempt.number > 1 { $0["http.request.resend_count"] = attempt.number - 1 }
        $0["reactor.conditional"] = attempt.isConditional
      }
    }
  }

  /// Writes the context of a trace into header fields, such as `traceparent` (W3C Trace Context).
  private struct FieldInjector: Injector {
    func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
      // A tracer may have names that no field can have.
      if let name = HTTPField.Name(key) { fields[name] = value }
    }
  }
#endif
