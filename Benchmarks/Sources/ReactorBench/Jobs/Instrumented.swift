import Foundation
import ReactorCore
import ReactorObservability
import Tracing

/// The cost of `Observability`, with backends that do nothing: in memory, where it must cost
/// nothing, and around a request, without a tracer and with one.
enum Instrumented: Benchmark {
  static let name = "instrument"
  static let question = "a fetch whose layer has an instrument, from memory and from the network, 1 KB"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    // A resource remembers its place in the memory of one layer: each layer has its own.
    let others = try StoredArticles(1_000)
    let seen = try await reactor(articles, Observability())
    let traced = try await reactor(try StoredArticles(1_000), Observability(tracer: DiscardingTracer()))
    let alone = try await reactor(others, nil)
    try await bench.compare(
      "memory hit of a layer with an instrument, 1 KB", to: "without one", target: .ratio(1.02),
      job: MemoryHit.fetching(articles.resources, seen), limit: MemoryHit.fetching(others.resources, alone))
    try await bench.compare(
      "network fetch with an instrument, without a network, 1 KB", to: "without one", target: .nanosecondsMore(2_000),
      job: asking(articles.resources[0], seen), limit: asking(others.resources[0], alone))
    try await bench.compare(
      "network fetch with an instrument and a tracer, without a network, 1 KB", to: "without one",
      target: .nanosecondsMore(2_000),
      job: asking(articles.resources[1], traced), limit: asking(others.resources[1], alone))
  }

  private static func asking(_ resource: Resource, _ reactor: Reactor<[Article]>) -> Work {
    { count in
      for _ in 0..<count { blackHole(try await reactor.fetchFromNetwork(resource)) }
    }
  }

  private static func reactor(
    _ articles: StoredArticles, _ instrument: (any ModelLayer.Instrument)?
  ) async throws -> Reactor<[Article]> {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 2_000, bytes: 1 << 30)
    configuration.instrument = instrument
    let reactor = Reactor<[Article]>(
      baseURL: StoredArticles.baseURL, transport: InstantTransport(body: articles.body), configuration: configuration)
    for resource in articles.resources { blackHole(try await reactor.fetch(resource)) }
    return reactor
  }
}

/// A tracer that discards its spans. With `NoOpTracer`, no spans would be made.
private struct DiscardingTracer: Tracer {
  typealias Span = NoOpTracer.NoOpSpan

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
    at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
  ) -> Span { Span(context: context()) }

  func forceFlush() {}
  func extract<Carrier, Extract: Extractor>(
    _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
  ) where Extract.Carrier == Carrier {}
  func inject<Carrier, Inject: Injector>(
    _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject.Carrier == Carrier {}
}
