import Foundation
import HTTPCachingProxy
import HTTPTypes
import ReactorCore

/// The cost of `No-Vary-Search`: of misses on a path with a rule and on a path without, and
/// of hits.
enum EquivalentMiss: Benchmark {
  static let name = "no-vary-search"
  static let question = "requests of a path with and without a rule, 10,000 records of it, store in memory"

  static func measure(_ bench: Bench) async throws {
    let records = 10_000
    let (ruled, plain) = (try await filled(records, #"params=("u")"#), try await filled(records, nil))
    try await bench.compare(
      "miss with a rule among 10,000 records", to: "miss without", target: .ratio(1.5), job: missing(ruled),
      limit: missing(plain))
    let stored = (0..<1_000).map { Resource("articles?page=\($0)&u=1") }
    try await bench.compare(
      "memory hit of a path with a rule", to: "without", target: .ratio(1.02), job: MemoryHit.fetching(stored, ruled),
      limit: MemoryHit.fetching(stored, plain))
    let (honoring, ignoring) = (ProxyCache(persistence: MemoryPersistence()), exact())
    for cache in [honoring, ignoring] { try await store(1_000, in: cache) }
    try await bench.compare(
      "later miss of a path without a rule", to: "the same, without the feature", target: .nanosecondsMore(100),
      job: planning(1_000..<2_000, honoring), limit: planning(1_000..<2_000, ignoring))
    try await bench.compare(
      "exact hit, with the feature", to: "without", target: .ratio(1.02), job: planning(0..<1_000, honoring),
      limit: planning(0..<1_000, ignoring))
  }

  private static func exact() -> ProxyCache {
    ProxyCache(persistence: MemoryPersistence(), honorsNoVarySearch: false)
  }

  private static func filled(_ records: Int, _ rule: String?) async throws -> Reactor<[Article]> {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 2_000, bytes: 1 << 30)
    let layer = ModelLayer(
      baseURL: StoredArticles.baseURL,
      transport: RuledTransport(body: try Article.json(Size.small.articles), rule: rule),
      persistence: MemoryPersistence(), configuration: configuration)
    let reactor = layer.reactor([Article].self)
    for number in (0..<records).reversed() {
      blackHole(try await reactor.fetch(Resource("articles?page=\(number)&u=1")))
    }
    return reactor
  }

  /// Each iteration fetches another URL, whose response is not stored.
  private static func missing(_ reactor: Reactor<[Article]>) -> Work {
    let resources = (0..<4_000).map { Resource("articles?new=\($0)&u=1") }
    return { count in
      for index in 0..<count { blackHole(try await reactor.fetch(resources[index % resources.count])) }
    }
  }

  private static func request(_ number: Int) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/articles?page=\(number)&u=1")
  }

  private static func store(_ records: Int, in cache: ProxyCache) async throws {
    for number in 0..<records {
      guard case .send(let exchange) = await cache.plan(for: request(number), at: Date()) else { continue }
      let response = HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=86400"])
      _ = await cache.receive(response, body: Data(count: 1_000), for: exchange, at: Date())
    }
  }

  private static func planning(_ numbers: Range<Int>, _ cache: ProxyCache) -> Work {
    let (requests, now) = (numbers.map(request), Date())
    return { count in
      for index in 0..<count { blackHole(await cache.plan(for: requests[index % requests.count], at: now)) }
    }
  }
}

/// Answers with a rule, or without one. A request with the item `new` gets a response that is not
/// stored.
private struct RuledTransport: Transport {
  let body: Data
  let rule: String?

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    var fields: HTTPFields = [.contentType: "application/json", .cacheControl: "max-age=86400"]
    if let name = HTTPField.Name("No-Vary-Search") { fields[name] = rule }
    if request.path?.contains("new=") == true { fields[.cacheControl] = "no-store" }
    return (HTTPResponse(status: .ok, headerFields: fields), self.body)
  }
}
