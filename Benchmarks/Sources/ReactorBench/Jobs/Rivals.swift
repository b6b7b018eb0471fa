import Foundation
import GRDB
import ReactorCore
import ReactorSQLite

/// Reactor beside the libraries that its users would take otherwise.
///
/// GRDB is itself. Of Nuke, ReactiveSwift, TanStack Query and ReSwift, the published shape was
/// written again, since none of them can be resolved here. A shape has the structures and the steps
/// of what is measured and nothing else of its library, so it is faster than the library, if
/// anything.
enum Rivals: Benchmark {
  static let name = "rivals"
  static let question = "reading, observing and storing, beside other libraries"

  static func measure(_ bench: Bench) async throws {
    try await measureReading(bench)
    try await measureObserving(bench)
    try await measureStoring(bench)
    for stores in [1, 20] {
      let world = try await FluxWorld(stores: stores)
      try await bench.compare(
        "dispatch to \(stores) \(stores == 1 ? "store" : "stores"), a change and an observer each",
        to: "the shape of ReSwift, a subscriber each", target: nil,
        job: { await world.dispatch($0, tells: true) }, limit: { await world.dispatchAsReSwift($0) })
    }
  }

  private static func measureReading(_ bench: Bench) async throws {
    let articles = try StoredArticles(1_000)
    let reactor = try await MemoryHit.filledReactor(articles)
    let model = try await reactor.fetch(articles.resources[0])
    let nuke = NukeShaped<[Article]>()
    let keys = articles.keys.map { NukeShaped<[Article]>.Key(id: $0.url) }
    for key in keys { nuke.set(model, for: key) }
    var (mine, theirs) = (0, 0)
    try await bench.compare(
      "value in memory, read without waiting", to: "the shape of Nuke's cache", target: nil,
      job: { count in
        for _ in 0..<count {
          blackHole(reactor.cached(articles.resources[mine]))
          mine = mine + 1 == 1_000 ? 0 : mine + 1
        }
      },
      limit: { count in
        for _ in 0..<count {
          blackHole(nuke.value(for: keys[theirs]))
          theirs = theirs + 1 == 1_000 ? 0 : theirs + 1
        }
      })
    let queries = await FilledQueries(model)
    try await bench.compare(
      "fetch that memory answers", to: "the shape of TanStack Query", target: nil,
      job: MemoryHit.fetching(articles.resources, reactor), limit: { try await queries.fetch($0) })
  }

  private static func measureObserving(_ bench: Bench) async throws {
    let observed = try await Observed(1_000)
    let property = ObservedProperty(1_000)
    try await bench.compare(
      "one change, per observer of 1,000", to: "the shape of ReactiveSwift's property", target: nil,
      operations: (1_000, 1_000), job: { try await observed.change($0) }, limit: { property.change($0) })
    let query = await ObservedQuery(1_000)
    try await bench.compare(
      "one change, per observer of 1,000", to: "the shape of TanStack Query", target: nil,
      operations: (1_000, 1_000), job: { try await observed.change($0) }, limit: { await query.change($0) })
  }

  private static func measureStoring(_ bench: Bench) async throws {
    let disk = try await Disk(try StoredArticles(500))
    let rows = try ArticleTable(disk.directory.path("grdb.sqlite"), lists: 500)
    let model = Article.list(Size.small.articles)
    try await bench.compare(
      "value on disk, four rows or 1 KB", to: "GRDB, a pool and Codable rows", target: nil,
      job: ParsedDiskHit.fetching(disk.articles, from: disk.sqlite)
    ) { count in
      for index in 0..<count { blackHole(try rows.list(index % 500)) }
    }
    let reactor = ParsedDiskHit.emptyReactor(disk.sqlite)
    var round = 0
    func changed() -> [Article] {
      round += 1
      var changed = model
      changed[0].minutes = round
      return changed
    }
    try await bench.compare(
      "value that is saved here, four rows or 1 KB", to: "GRDB, a pool and Codable rows", target: nil,
      job: { count in
        for index in 0..<count { try await reactor.save(changed(), for: disk.articles.resources[index % 500]) }
      },
      limit: { count in for index in 0..<count { try rows.save(changed(), as: index % 500) } })
  }
}

/// A thousand queries whose data is in memory, and fresh.
@MainActor private final class FilledQueries {
  private let client = TanStackShaped()
  private let model: [Article]
  private var place = 0

  init(_ model: [Article]) {
    self.model = model
    for number in 0..<1_000 { client.set(model, for: [.text("articles"), .number(number)]) }
  }

  func fetch(_ count: Int) async throws {
    for _ in 0..<count {
      let found = try await client.fetch([.text("articles"), .number(place)], staleTime: 86_400) { model }
      blackHole(found)
      place = place + 1 == 1_000 ? 0 : place + 1
    }
  }
}

private final class ObservedProperty {
  private let property = ReactiveSwiftShaped(0)
  private var value = 0

  init(_ count: Int) {
    for _ in 0..<count {
      let seen = LastValue()
      property.observeValues { blackHole(seen.isNew($0)) }
    }
  }

  func change(_ times: Int) {
    for _ in 0..<times {
      value += 1
      property.set(value)
    }
  }
}

@MainActor private final class ObservedQuery {
  private let client = TanStackShaped()
  private let audience = Audience()
  private let count: Int
  private var value = 0

  init(_ count: Int) {
    self.count = count
    for _ in 0..<count {
      let seen = LastValue()
      client.observe([.text("counter")]) { [audience] state in
        if seen.isNew(state.data as? Int) { audience.hasSeen() }
      }
    }
  }

  func change(_ times: Int) async {
    for _ in 0..<times {
      value += 1
      audience.expect(count)
      client.set(value, for: [.text("counter")])
      await audience.all()
    }
  }
}

/// Articles as GRDB's guides store a model: a row for each, with a column for each property.
extension Article: FetchableRecord, PersistableRecord {}

private final class ArticleTable {
  private let pool: DatabasePool

  init(_ path: String, lists: Int) throws {
    pool = try DatabasePool(path: path)
    try pool.write { db in
      try db.create(table: Article.databaseTableName) { table in
        table.primaryKey("id", .integer)
        table.column("title", .text).notNull()
        table.column("author", .jsonText).notNull()
        table.column("published", .datetime).notNull()
        table.column("tags", .jsonText).notNull()
        table.column("summary", .text).notNull()
        table.column("minutes", .integer).notNull()
        table.column("score", .double).notNull()
        table.column("isPremium", .boolean).notNull()
      }
    }
    for list in 0..<lists { try save(Article.list(Size.small.articles), as: list) }
  }

  func list(_ number: Int) throws -> [Article] {
    let first = number * Size.small.articles
    return try pool.read { db in
      try Article.filter((first..<first + Size.small.articles).contains(Column("id"))).fetchAll(db)
    }
  }

  /// Saves articles under the ids of a list.
  func save(_ articles: [Article], as list: Int) throws {
    try pool.write { db in
      for (place, var article) in articles.enumerated() {
        article.id = list * Size.small.articles + place
        try article.upsert(db)
      }
    }
  }
}
