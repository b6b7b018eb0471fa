import CMeasuring
import ReactorCore

/// The growth of a program's memory in bytes, beyond the models themselves: the store's
/// connections, and for each model its key, its freshness and its place.
///
/// The limit is an array of the same models, parsed by the same parser. Resources are the program's
/// own, and are made before. Two more figures show the parts: the same without a store, and with a
/// flow of one closure, whose models come with no response.
enum MemoryFootprint: Benchmark {
  static let name = "memory"
  static let question = "bytes in use with 100,000 records on disk and 10,000 models in memory"

  static func measure(_ bench: Bench) async throws {
    guard measuring_counts_allocations() else { return print("Memory cannot be counted on this system.") }
    let store = try await bench.largeStore()
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 20_000, bytes: 1 << 30)
    let body = store.articles.body
    let parser = Parser<[Article]>.json()
    try await add("memory, 100,000 records in SQLite, 10,000 live models", .ratio(1.3), store, bench) {
      [configuration] in
      Reactor(
        baseURL: StoredArticles.baseURL, transport: NoTransport(), persistence: try store.openSQLite(),
        configuration: configuration)
    }
    try await add("memory, no store, 10,000 live models", nil, store, bench) { [configuration] in
      Reactor(
        baseURL: StoredArticles.baseURL, transport: InstantTransport(body: body), configuration: configuration)
    }
    try await add("memory, a flow of a closure, 10,000 live models", nil, store, bench) { [configuration] in
      Reactor(flow: ReactorFlow(configuration: configuration) { _ in try parser.parse(body).model })
    }
  }

  private static func add(
    _ figure: String, _ target: Target?, _ store: LargeStore, _ bench: Bench, make: () throws -> Reactor<[Article]>
  ) async throws {
    let count = 10_000
    var (values, limits) = ([Double](), [Double]())
    // All stay until the last round is over: memory that one releases would count as another's.
    var reactors: [Reactor<[Article]>] = []
    for _ in 0..<5 {
      let (reactor, bytes) = try await live((0..<count).map { Resource("articles/\($0)") }, make)
      reactors.append(reactor)
      values.append(bytes)
      limits.append(try models(count, of: store))
    }
    withExtendedLifetime(reactors) {}
    let ratios = zip(values, limits).map { $0 / $1 }
    bench.add(
      Figure(
        benchmark: name, name: figure, baselineName: "only the models", unit: .bytes, clock: .elapsed,
        value: values.median, baseline: limits.median, ratio: ratios.median,
        spread: Figure.Spread(low: ratios.quantile(0.25), high: ratios.quantile(0.75)),
        difference: values.median - limits.median, rounds: ratios.count, target: target))
  }

  private static func live(
    _ resources: [Resource], _ make: () throws -> Reactor<[Article]>
  ) async throws -> (Reactor<[Article]>, bytes: Double) {
    measuring_begin()
    let reactor = try make()
    for resource in resources { blackHole(try await reactor.fetch(resource)) }
    let bytes = measuring_end().live_bytes
    try expect(resources.allSatisfy { reactor.cached($0) != nil }, "all is in memory")
    return (reactor, Double(bytes))
  }

  private static func models(_ count: Int, of store: LargeStore) throws -> Double {
    let parser = Parser<[Article]>.json()
    measuring_begin()
    var models: [[Article]] = []
    models.reserveCapacity(count)
    for _ in 0..<count { models.append(try parser.parse(store.articles.body).model) }
    let bytes = measuring_end().live_bytes
    blackHole(models)
    return Double(bytes)
  }
}
