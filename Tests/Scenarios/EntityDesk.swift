import HTTPTypes
import ReactorCore
import ReactorTesting
import ReactorWrites
import Synchronization
import TestSupport

/// The entity of the tests.
struct Article: Codable, Entity, Equatable {
  var id: Int
  var title: String

  init(_ id: Int, _ title: String) {
    self.id = id
    self.title = title
  }

  var json: String { #"{"id":\#(id),"title":"\#(title)"}"# }
}

/// A page that counts the looks at its members, by the id of the first.
struct ArticlePage: Codable, EntityContainer {
  var articles: [Article]
  var next: String?

  private static let looks = Mutex<[Int: Int]>([:])

  static func looks(at id: Int) -> Int { looks.withLock { $0[id, default: 0] } }

  mutating func updateMembers(_ body: (Article) -> Article?) {
    if let id = articles.first?.id { Self.looks.withLock { $0[id, default: 0] += 1 } }
    articles.updateMembers(body)
  }
}

/// A server with lists and details of the same articles.
struct EntityDesk: Sendable {
  let bench: Bench
  let lists: Reactor<[Article]>
  let articles: Reactor<Article>
  let pages: Reactor<ArticlePage>

  init(_ bench: Bench = Bench(except: [.ownSteps])) {
    self.bench = bench
    lists = bench.layer.reactor()
    articles = bench.layer.reactor()
    pages = bench.layer.reactor()
  }

  static let fresh: HTTPFields = [.cacheControl: "max-age=600"]

  static func list(_ articles: [Article], _ fields: HTTPFields = fresh) -> ScriptedTransport.Answer {
    .json("[\(articles.map(\.json).joined(separator: ","))]", fields: fields)
  }

  static func page(_ articles: [Article]) -> ScriptedTransport.Answer {
    .json(#"{"articles":[\#(articles.map(\.json).joined(separator: ","))]}"#, fields: fresh)
  }

  /// Fetches a list from the network with these articles.
  @discardableResult func fetch(_ path: String, _ articles: Article...) async throws -> [Article] {
    bench.transport.answer("/v1/\(path)", with: Self.list(articles))
    return try await lists.fetchFromNetwork(Resource(path))
  }

  /// Fetches the details of an article from the network.
  @discardableResult func fetch(_ article: Article) async throws -> Article {
    bench.transport.answer("/v1/articles/\(article.id)", with: .json(article.json, fields: Self.fresh))
    return try await articles.fetchFromNetwork(Resource("articles/\(article.id)"))
  }

  /// Begins a request of a list, which is answered once the gate opens.
  func begin(_ path: String, _ articles: Article...) async throws -> (Task<[Article], any Error>, Gate) {
    let gate = Gate()
    bench.transport.answer("/v1/\(path)", with: Self.list(articles).held(at: gate, ignoresCancellation: true))
    let task = Task { [lists] in try await lists.fetchFromNetwork(Resource(path)) }
    try await gate.waitForArrival()
    return (task, gate)
  }

  func titles(_ path: String) -> [String]? { lists.cached(Resource(path))?.map(\.title) }
  func title(_ id: Int) -> String? { articles.cached(Resource("articles/\(id)"))?.title }

  /// Returns the stored body of a path; `nil` without a record.
  func stored(_ path: String) async throws -> String? {
    let entries = try await bench.persistence?.entries(in: nil, url: nil) ?? []
    guard let key = entries.first(where: { $0.key.url.hasSuffix("/\(path)") })?.key else { return nil }
    return try await bench.persistence?.load(key).map { String(decoding: $0.body, as: UTF8.self) }
  }
}
