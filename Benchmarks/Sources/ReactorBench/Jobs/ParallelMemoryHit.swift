import ReactorCore
import Synchronization

/// The cost of a memory hit while others read too: eight tasks on two processors, on one reactor,
/// whose memory has one lock.
///
/// The limit is eight dictionaries, each with its own lock, so that readers seldom meet.
enum ParallelMemoryHit: Benchmark {
  static let name = "parallel-memory-hit"
  static let question = "fetch of models that are in memory, by eight tasks on two processors"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await MemoryHit.filledReactor(articles)
    let limit = ShardedDictionary(try await reactor.fetch(articles.resources[0]), count: 1_000)
    try await bench.compare(
      "memory hit through fetch, 8 tasks on 2 processors", to: "eight locked dictionaries", target: .ratio(2.5),
      clock: .elapsed, processors: 2, operations: (8, 8), job: fetching(articles.resources, reactor, tasks: 8)
    ) { count in
      await withTaskGroup { group in
        for task in 0..<8 {
          group.addTask {
            var index = task * limit.keys.count / 8
            for _ in 0..<count {
              blackHole(limit.model(index))
              index = index + 1 == limit.keys.count ? 0 : index + 1
            }
          }
        }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await MemoryHit.filledReactor(articles)
    try await growth.curve(
      "memory hit on 2 processors, per fetch", of: "tasks", sizes: [1, 2, 4, 8, 16, 64], clock: .elapsed,
      processors: 2,
      operations: { $0 }
    ) { fetching(articles.resources, reactor, tasks: $0) }
  }

  private static func fetching(_ resources: [Resource], _ reactor: Reactor<[Article]>, tasks: Int) -> Work {
    { count in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<tasks {
          group.addTask {
            var index = task * resources.count / tasks
            for _ in 0..<count {
              blackHole(try await reactor.fetch(resources[index]))
              index = index + 1 == resources.count ? 0 : index + 1
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}

/// The limit of reads from memory by many.
private final class ShardedDictionary<Model: Sendable>: Sendable {
  typealias Key = BoxedDictionary<Model>.Key
  typealias Box = BoxedDictionary<Model>.Box

  private final class Shard: Sendable {
    let boxes = Mutex<[Key: Box]>([:])
  }

  let keys: [Key]
  private let shards = (0..<8).map { _ in Shard() }

  init(_ model: Model, count: Int) {
    keys = (0..<count).map { Key("articles/\($0)") }
    for key in keys { shard(key).boxes.withLock { $0[key] = Box(model) } }
  }

  func model(_ index: Int) -> Model? {
    let key = keys[index]
    return shard(key).boxes.withLock { $0[key] }?.model
  }

  private func shard(_ key: Key) -> Shard { shards[key.hash & 7] }
}
