import ReactorCore
import Synchronization

/// The cost of events, without a listener and with a closure that listens.
///
/// There is no build without events to compare with. Without a listener, an event costs one read of
/// an atomic flag. So the first figure compares a memory hit with one more such read to a plain
/// hit: the difference is what a build without events would save. The second figure is the
/// difference between hits, of one event each, with a listener and without.
enum Events: Benchmark {
  static let name = "events"
  static let question = "events with no listener, and with one closure"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await MemoryHit.filledReactor(articles)
    // A resource is quick with the first reactor that it was asked of: each has its own.
    let others = try StoredArticles(1_000)
    let listened = try await MemoryHit.filledReactor(others)
    let flag = Atomic(false)
    let heard = Atomic(0)
    try await bench.compare(
      "memory hit and one more look for listeners", to: "memory hit", target: .ratio(1.02)
    ) { count in
      for index in 0..<count {
        blackHole(try await reactor.fetch(articles.resources[index % 1_000]))
        if flag.load(ordering: .relaxed) { heard.add(1, ordering: .relaxed) }
      }
    } limit: { count in
      for index in 0..<count { blackHole(try await reactor.fetch(articles.resources[index % 1_000])) }
    }
    let token = listened.observeEvents { _ in heard.add(1, ordering: .relaxed) }
    try await bench.compare(
      "memory hit and its event, one closure", to: "memory hit without a listener", target: .nanosecondsMore(100)
    ) { count in
      let before = heard.load(ordering: .relaxed)
      for index in 0..<count { blackHole(try await listened.fetch(others.resources[index % 1_000])) }
      try expect(heard.load(ordering: .relaxed) - before == count, "each hit is an event")
    } limit: { count in
      for index in 0..<count { blackHole(try await reactor.fetch(articles.resources[index % 1_000])) }
    }
    token.cancel()
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("memory hit and its event", of: "listeners", expected: 1, sizes: [1, 4, 16, 64, 256]) {
      size in
      let articles = try StoredArticles(1_000)
      let reactor = try await MemoryHit.filledReactor(articles)
      let heard = (0..<size).map { _ in Counter() }
      let tokens = heard.map { counter in reactor.observeEvents { _ in counter.add() } }
      return { count in
        defer { withExtendedLifetime(tokens) {} }
        for index in 0..<count { blackHole(try await reactor.fetch(articles.resources[index % 1_000])) }
      }
    }
  }

  private final class Counter: Sendable {
    private let count = Atomic(0)

    func add() { count.add(1, ordering: .relaxed) }
  }
}
