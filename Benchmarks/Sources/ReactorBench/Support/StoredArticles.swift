import Foundation
import HTTPTypes
import ReactorCore

/// Resources of a server, with its responses.
struct StoredArticles: Sendable {
  static let server = "https://api.example.com"
  static let baseURL = URL(string: server) ?? URL(filePath: "/")

  let resources: [Resource]
  let keys: [RecordKey]
  /// The same for all but the last digits.
  let body: Data

  init(_ count: Int, _ size: Size = .small) throws { try self.init(count, articles: size.articles) }

  /// - Parameter articles: how many are in each body.
  init(_ count: Int, articles: Int) throws {
    resources = (0..<count).map { Resource("articles/\($0)") }
    keys = (0..<count).map { RecordKey(method: .get, url: "\(Self.server)/articles/\($0)") }
    body = try Article.json(articles)
  }

  func record(_ index: Int) -> Record {
    let now = Date.now
    return Record(
      head: Record.Head(
        identity: keys[index].identity, status: .ok, fields: Self.fields(of: index), requestedAt: now, receivedAt: now),
      body: body)
  }

  /// Saves all, many at once.
  func save(in persistence: some Persistence) async throws {
    for start in stride(from: 0, to: keys.count, by: 250) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in start..<min(start + 250, keys.count) {
          group.addTask { try await persistence.save(record(index), for: keys[index]) }
        }
        try await group.waitForAll()
      }
    }
  }

  static func fields(of index: Int) -> HTTPFields {
    [
      .contentType: "application/json; charset=utf-8", .eTag: "\"a\(index)\"", .cacheControl: "max-age=86400",
      .server: "example",
    ]
  }
}

/// Answers at once, from memory.
struct InstantTransport: Transport {
  let body: Data

  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    (HTTPResponse(status: .ok, headerFields: StoredArticles.fields(of: 0)), self.body)
  }
}

/// It must never be called.
struct NoTransport: Transport {
  func send(
    _ request: HTTPRequest, body: Data?, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> (HTTPResponse, Data) {
    throw Unexpected(description: "\(request.path ?? "") was requested")
  }
}
