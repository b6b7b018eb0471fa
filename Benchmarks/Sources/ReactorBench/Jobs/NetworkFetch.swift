import Foundation
import HTTPTypes
import ReactorCore

/// The cost that the library adds to a request: key, flight, cache decision and memory.
///
/// The limit is the same transport (`URLSession`) asked by hand, and the same parser. The server is
/// on this machine, so that no network hides anything. Nothing is persisted on either side.
enum NetworkFetch: Benchmark {
  static let name = "network"
  static let question = "fetch from a server on this machine, 1 KB, 1 and 32 at once"

  static func measure(_ bench: Bench) async throws {
    let server = try LocalServer(try Article.json(Size.small.articles))
    let client = try Client(server)
    let resources = (0..<32).map { Resource("articles/\($0)") }
    let requests = (0..<32).map { client.request("articles/\($0)") }
    try await bench.compare(
      "network fetch, 1 KB, one at a time", to: "the bare transport and the same parser", target: .ratio(1.15)
    ) { count in
      for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork(resources[0])) }
    } limit: { count in
      for _ in 0..<count { blackHole(try await client.fetchBare(requests[0])) }
    }
    try await bench.compare(
      "network fetch, 1 KB, one at a time", to: "the same, in a separate task", target: nil
    ) { count in
      for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork(resources[0])) }
    } limit: { count in
      for _ in 0..<count { blackHole(try await Task { try await client.fetchBare(requests[0]) }.value) }
    }
    try await bench.compare(
      "network fetch, 1 KB, 32 at once", to: "the bare transport and the same parser", target: .ratio(1.15),
      operations: (32, 32)
    ) { count in
      for _ in 0..<count {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for resource in resources {
            group.addTask { blackHole(try await client.reactor.fetchFromNetwork(resource)) }
          }
          try await group.waitForAll()
        }
      }
    } limit: { count in
      for _ in 0..<count {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for request in requests { group.addTask { blackHole(try await client.fetchBare(request)) } }
          try await group.waitForAll()
        }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("network fetch", of: "articles", expected: 1, sizes: [4, 20, 200, 2_000]) { size in
      let client = try Client(try LocalServer(try Article.json(size)))
      return { count in
        for _ in 0..<count { blackHole(try await client.reactor.fetchFromNetwork("articles")) }
      }
    }
    let client = try Client(try LocalServer(try Article.json(Size.small.articles)))
    try await growth.curve(
      "network fetch, per caller at once", of: "callers", sizes: [1, 4, 16, 64, 256], operations: { $0 }
    ) {
      let resources = (0..<$0).map { Resource("articles/\($0)") }
      return { count in
        for _ in 0..<count {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for resource in resources {
              group.addTask { blackHole(try await client.reactor.fetchFromNetwork(resource)) }
            }
            try await group.waitForAll()
          }
        }
      }
    }
  }
}

/// A reactor and a bare transport that share their connections.
struct Client: Sendable {
  let server: LocalServer
  let transport = URLSessionTransport()
  let layer: ModelLayer
  let reactor: Reactor<[Article]>
  private let parser = Parser<[Article]>.json()

  init(_ server: LocalServer) throws {
    self.server = server
    guard let url = URL(string: "http://\(server.authority)") else { throw Unexpected(description: "no URL") }
    layer = ModelLayer(baseURL: url, transport: transport)
    reactor = layer.reactor()
  }

  func request(_ path: String, fields: HTTPFields = [:]) -> HTTPRequest {
    var fields = fields
    fields[.accept] = "application/json"
    return HTTPRequest(
      method: .get, scheme: "http", authority: server.authority, path: "/\(path)", headerFields: fields)
  }

  func fetchBare(_ request: HTTPRequest) async throws -> [Article] {
    let (response, body) = try await transport.send(request, body: nil) { _ in }
    try expect(response.status == .ok, "the status is 200")
    return try parser.parse(body).model
  }
}
