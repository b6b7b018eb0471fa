import ReactorCore

/// The cost of a thousand callers that want the same resource at the same time: one request, and
/// the time beyond one caller's.
///
/// The first limit is one fetch from a server that takes 20 ms, as servers that are elsewhere do.
/// The second shows what a thousand tasks cost by themselves: one task sends the request, and all
/// await its value.
enum Coalescing: Benchmark {
  static let name = "coalescing"
  static let question = "1,000 concurrent fetches of one key"

  static func measure(_ bench: Bench) async throws {
    let far = try Client(try LocalServer(try Article.json(Size.small.articles), delay: 20_000))
    let fetch = fetching(far, callers: 1)
    try await bench.compare(
      "1,000 fetches of one key, server takes 20 ms", to: "one fetch", target: .ratio(1.2), clock: .elapsed,
      job: fetching(far, callers: 1_000), limit: fetch)
    let request = far.request("articles")
    try await bench.compare(
      "1,000 fetches of one key, processor time", to: "1,000 tasks that await one request", target: nil,
      job: fetching(far, callers: 1_000)
    ) { count in
      for _ in 0..<count {
        let flight = Task { try await far.fetchBare(request) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<1_000 { group.addTask { blackHole(try await flight.value) } }
          try await group.waitForAll()
        }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    let client = try Client(try LocalServer(try Article.json(Size.small.articles)))
    try await growth.curve(
      "fetches of one key, for all", of: "callers", expected: 1, sizes: [1, 10, 100, 1_000, 10_000]
    ) {
      fetching(client, callers: $0)
    }
  }

  /// Each time of a resource that was never requested before.
  private static func fetching(_ client: Client, callers: Int) -> Work {
    { count in
      let before = client.server.requestCount
      for number in 0..<count {
        let resource = Resource("articles/\(before + number)")
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<callers { group.addTask { blackHole(try await client.reactor.fetch(resource)) } }
          try await group.waitForAll()
        }
      }
      try expect(client.server.requestCount - before == count, "there is one request each time")
    }
  }
}
