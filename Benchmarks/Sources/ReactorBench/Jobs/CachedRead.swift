import ReactorCore

/// The cost of `cached(_:)`, which is synchronous: a look-up in memory without a check of
/// freshness.
///
/// The limit is the same locked dictionary as for `fetch`.
enum CachedRead: Benchmark {
  static let name = "cached"
  static let question = "cached(_:) of a model that is in memory, 1 KB, 1,000 resources"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await MemoryHit.filledReactor(articles)
    let limit = BoxedDictionary(try await reactor.fetch(articles.resources[0]), count: 1_000)
    try await bench.compare(
      "memory hit through cached(_:), 1 KB", to: "Mutex over a dictionary", target: .ratio(1.3),
      job: reading(articles.resources, reactor), limit: { limit.readAll($0) })
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("cached(_:)", of: "resources", sizes: [10, 100, 1_000, 10_000, 100_000]) {
      let articles = try StoredArticles($0)
      return reading(articles.resources, try await MemoryHit.filledReactor(articles))
    }
  }

  private static func reading(_ resources: [Resource], _ reactor: Reactor<[Article]>) -> Work {
    // Each turn continues where the last ended: a few models would all be in the processor's cache.
    var index = 0
    return { count in
      for _ in 0..<count {
        blackHole(reactor.cached(resources[index]))
        index = index + 1 == resources.count ? 0 : index + 1
      }
    }
  }
}
