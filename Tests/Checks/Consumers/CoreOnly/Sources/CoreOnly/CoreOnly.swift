import Foundation
import ReactorCore

/// A program that uses nothing but ReactorCore. It ends with a non-zero status unless each step is
/// as it says.
@main struct CoreOnly {
  struct Note: Codable, Sendable, Equatable {
    var text: String
  }

  struct Unexpected: Error {
    var step: String
  }

  /// HTTP's types come with ReactorCore.
  struct Bearer: TransportMiddleware {
    func intercept(_ request: HTTPRequest, body: Data?, next: Next) async throws -> (HTTPResponse, Data) {
      var request = request
      request.headerFields[.authorization] = "Bearer 1"
      return try await next(request, body)
    }
  }

  static func main() async throws {
    let directory = URL.temporaryDirectory.appending(path: "reactor-core-only-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    let hello = Note(text: "hello")

    let first = notes(in: directory) { _ in hello }
    try expect(first.cached("note") == nil, "memory begins empty")
    try expect(try await first.fetch("note") == hello, "the first fetch asks the network step")
    try expect(first.cached("note") == hello, "the second is in memory")

    let second = notes(in: directory) { _ in throw Unexpected(step: "the network was asked") }
    try expect(try await second.fetch("note") == hello, "another reactor reads it from disk")
    let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/")
    _ = try await Bearer().intercept(request, body: nil) { request, _ in
      try expect(request.headerFields[.authorization] == "Bearer 1", "a middleware needs no other import")
      return (HTTPResponse(status: .ok), Data())
    }
    try await fetchMany()
    print("ReactorCore alone: fetched, kept in memory, read back from disk, fetched many at once")
  }

  /// Optimized code is another program than the tests run, which are built without.
  private static func fetchMany() async throws {
    let ids = Array(0..<200)
    for suspends in [false, true] {
      let numbers = Reactor<Note>(
        flow: .persisted(in: MemoryPersistence()) { resource in
          if suspends { try await Task.sleep(for: .microseconds(100)) }
          guard let number = Int(resource.path), number % 7 != 3 else { throw Unexpected(step: resource.path) }
          return Note(text: resource.path)
        })
      for round in ["from the network", "from memory where it worked"] {
        let results = await numbers.fetchAll(ids.map { Resource("\($0)") })
        try expect(results.count == ids.count, "\(round): a result for each")
        for (id, result) in zip(ids, results) {
          switch result {
          case .success(let note): try expect(note.text == "\(id)" && id % 7 != 3, "\(round): \(id) is in its place")
          case .failure(let error): try expect(id % 7 == 3, "\(round): \(id) failed with \(error)")
          }
        }
      }
    }
  }

  private static func notes(
    in directory: URL, network: @escaping @Sendable (Resource) async throws -> Note
  ) -> Reactor<Note> {
    Reactor(flow: .persisted(in: FilePersistence(directory: directory), network: network))
  }

  private static func expect(_ holds: Bool, _ step: String) throws {
    guard holds else { throw Unexpected(step: step) }
  }
}
