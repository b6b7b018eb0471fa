import ReactorCore
import Synchronization

/// The cost of a model that is in memory. A screen pays it each time that it is drawn.
///
/// The limit is a locked dictionary of boxed models whose keys were hashed when they were made. It
/// knows no freshness, no order of use, no policy; `fetch` asks all three, through an `async` call.
enum MemoryHit: Benchmark {
  static let name = "memory-hit"
  static let question = "fetch of a model that is in memory, 1 KB, 1,000 resources"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await filledReactor(articles)
    let limit = BoxedDictionary(try await reactor.fetch(articles.resources[0]), count: 1_000)
    try await bench.compare(
      "memory hit through fetch, 1 KB", to: "Mutex over a dictionary", target: .ratio(2),
      job: fetching(articles.resources, reactor), limit: { limit.readAll($0) })
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("memory hit through fetch", of: "resources", sizes: [10, 100, 1_000, 10_000, 100_000]) {
      let articles = try StoredArticles($0)
      return fetching(articles.resources, try await filledReactor(articles))
    }
    // Twice as many resources as the memory holds, in turn, so that each is gone when it is
    // requested again.
    try await growth.curve("fetch into a full memory", of: "models", sizes: [100, 1_000, 10_000]) { size in
      var configuration = ReactorConfiguration()
      configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: size)
      let model = Article.list(Size.small.articles)
      let reactor = Reactor<[Article]>(flow: ReactorFlow(configuration: configuration) { _ in model })
      let resources = (0..<size * 2).map { Resource("articles/\($0)") }
      for resource in resources { blackHole(try await reactor.fetch(resource)) }
      let kept = resources.count { reactor.cached($0) != nil }
      try expect(kept <= size, "the memory keeps its limit: \(kept) of \(size)")
      return fetching(resources, reactor)
    }
  }

  static func fetching(_ resources: [Resource], _ reactor: Reactor<[Article]>) -> Work {
    // Each turn continues where the last ended: a few models would all be in the processor's cache.
    var index = 0
    return { count in
      for _ in 0..<count {
        blackHole(try await reactor.fetch(resources[index]))
        index = index + 1 == resources.count ? 0 : index + 1
      }
    }
  }

  /// A reactor that has all in memory.
  static func filledReactor(_ articles: StoredArticles) async throws -> Reactor<[Article]> {
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(
      models: max(1_000, articles.keys.count), bytes: 1 << 30)
    let reactor = Reactor<[Article]>(
      baseURL: StoredArticles.baseURL, transport: InstantTransport(body: articles.body), configuration: configuration)
    for resource in articles.resources { blackHole(try await reactor.fetch(resource)) }
    try expect(articles.resources.allSatisfy { reactor.cached($0) != nil }, "all is in memory")
    return reactor
  }
}

/// The limit of a read from memory.
final class BoxedDictionary<Model: Sendable>: Sendable {
  /// A key that was hashed once.
  final class Key: Hashable, Sendable {
    let text: String
    let hash: Int

    init(_ text: String) {
      self.text = text
      hash = text.hashValue
    }

    static func == (a: Key, b: Key) -> Bool { a === b || (a.hash == b.hash && a.text == b.text) }
    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
  }

  final class Box: Sendable {
    let model: Model

    init(_ model: Model) { self.model = model }
  }

  let keys: [Key]
  private let boxes: Mutex<[Key: Box]>

  init(_ model: Model, count: Int) {
    let keys = (0..<count).map { Key("articles/\($0)") }
    self.keys = keys
    boxes = Mutex(Dictionary(uniqueKeysWithValues: keys.map { ($0, Box(model)) }))
  }

  func model(_ key: Key) -> Model? { boxes.withLock { $0[key] }?.model }

  func readAll(_ count: Int) {
    var index = 0
    for _ in 0..<count {
      blackHole(model(keys[index]))
      index = index + 1 == keys.count ? 0 : index + 1
    }
  }
}
