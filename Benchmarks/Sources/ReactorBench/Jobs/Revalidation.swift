import HTTPTypes
import ReactorCore
import Synchronization

/// The cost of a revalidation: a request with the stored validator, and an answer without a body.
///
/// The limit is the same request sent by hand. The model has 50 KB: parsing it again would cost
/// more than the request.
enum Revalidation: Benchmark {
  static let name = "revalidation"
  static let question = "a 304 for a model of 50 KB"

  static func measure(_ bench: Bench) async throws {
    let server = try LocalServer(try Article.json(Size.large.articles), hasValidator: true)
    let client = try Client(server)
    let resource = Resource("articles")
    blackHole(try await client.reactor.fetch(resource))
    let parsed = Atomic(0)
    let token = client.layer.observeEvents { event in
      if case .parsed = event.kind { parsed.add(1, ordering: .relaxed) }
    }
    blackHole(try await client.reactor.fetchFromNetwork(resource))
    token.cancel()
    try expect(parsed.load(ordering: .relaxed) == 0, "nothing is parsed")
    let request = client.request("articles", fields: [.ifNoneMatch: "\"1\""])
    try await bench.compare(
      "revalidation, 304, 50 KB", to: "the bare transport", target: .ratio(1.2)
    ) { count in
      for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork(resource)) }
    } limit: { count in
      for _ in 0..<count { try await askBare(client, request) }
    }
    try await bench.compare(
      "revalidation, 304, 50 KB", to: "the same, in a separate task", target: nil
    ) { count in
      for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork(resource)) }
    } limit: { count in
      for _ in 0..<count { try await Task { try await askBare(client, request) }.value }
    }
  }

  private static func askBare(_ client: Client, _ request: HTTPRequest) async throws {
    let (response, _) = try await client.transport.send(request, body: nil) { _ in }
    try expect(response.status == .notModified, "the status is 304")
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("revalidation", of: "articles", sizes: [4, 20, 200, 2_000]) { size in
      let client = try Client(try LocalServer(try Article.json(size), hasValidator: true))
      let resource = Resource("articles")
      blackHole(try await client.reactor.fetch(resource))
      return { count in
        for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork(resource)) }
      }
    }
  }
}
