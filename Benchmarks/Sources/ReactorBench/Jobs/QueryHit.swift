import Foundation
import ReactorCore

/// The cost of a search with a body that is in memory (RFC 10008), beside a `GET` there.
enum QueryHit: Benchmark {
  static let name = "query-hit"
  static let question = "fetch of a QUERY with a body of 1 KB that is in memory, 1,000 resources"

  static func measure(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let queries = try (0..<1_000).map(query)
    var configuration = ReactorConfiguration()
    configuration.memoryLimit = ReactorConfiguration.MemoryLimit(models: 4_000, bytes: 1 << 30)
    let reactor = Reactor<[Article]>(
      baseURL: StoredArticles.baseURL, transport: InstantTransport(body: articles.body), configuration: configuration)
    for resource in articles.resources + queries { blackHole(try await reactor.fetch(resource)) }
    try await bench.compare(
      "QUERY hit, 1 KB body", to: "GET hit", target: .ratio(1.1),
      job: MemoryHit.fetching(queries, reactor), limit: MemoryHit.fetching(articles.resources, reactor))
    // Made anew each time, as a literal in a program is.
    let (few, bytes) = (16, try query(0).body ?? Data())
    try await bench.compare(
      "QUERY hit, made anew, 1 KB body", to: "GET hit, made anew", target: .ratio(1.5),
      job: { count in
        for index in 0..<count {
          blackHole(try await reactor.fetch(made(index % few, bytes)))
        }
      },
      limit: { count in
        for index in 0..<count { blackHole(try await reactor.fetch(Resource("articles/\(index % few)"))) }
      })
  }

  private static func query(_ number: Int) throws -> Resource {
    try Resource(
      "search/\(number)", method: .query, json: ["text": String(repeating: "x", count: 1_000)])
  }

  private static func made(_ number: Int, _ body: Data) -> Resource {
    Resource("search/\(number)", method: .query, headers: [.contentType: "application/json"], body: body)
  }
}
