import Foundation
import ReactorCore
import ReactorSQLite

/// The cost of a program's start, for stores of several sizes: the store is opened, and twenty
/// resources are fetched for the first screen.
///
/// The limit opens the same and reads the same by hand, and runs the same parser: for SQLite one
/// connection and one prepared statement.
enum ColdStart: Benchmark {
  static let name = "cold-start"
  static let question = "open the store and serve twenty resources, with 100 and 100,000 records"

  static func measure(_ bench: Bench) async throws {
    let stores = [try await LargeStore(100), try await bench.largeStore()]
    for store in stores {
      try await bench.compare(
        "cold start, \(Table.whole(store.count)) records, SQLite", to: "open, 20 prepared reads, the same parser",
        target: .ratio(3),
        job: starting(store) { try store.openSQLite() }
      ) { count in
        let parser = Parser<[Article]>.json()
        for _ in 0..<count {
          let raw = try RawSQLite(reading: store.rawPath)
          for key in store.firstKeys { blackHole(try parser.parse(try raw.load(key.digest)?.body ?? Data())) }
        }
      }
      try await bench.compare(
        "cold start, \(Table.whole(store.count)) records, files", to: "20 times open and read, the same parser",
        target: .ratio(3),
        job: starting(store) { store.openFiles() }
      ) { count in
        let parser = Parser<[Article]>.json()
        for _ in 0..<count {
          for path in store.rawFiles {
            blackHole(try parser.parse(try RawFiles.load(path).dropFirst(StoredArticles.rawHead.count)))
          }
        }
      }
    }
    let (few, many) = (stores[0], stores[1])
    try await bench.compare(
      "cold start, \(Table.whole(many.count)) records, SQLite", to: "with \(Table.whole(few.count)) records",
      target: .ratio(1.1),
      job: starting(many) { try many.openSQLite() }, limit: starting(few) { try few.openSQLite() })
    try await bench.compare(
      "cold start, \(Table.whole(many.count)) records, files", to: "with \(Table.whole(few.count)) records",
      target: .ratio(1.1),
      job: starting(many) { many.openFiles() }, limit: starting(few) { few.openFiles() })
  }

  static func grow(_ growth: Growth) async throws {
    try await growth.curve("cold start, SQLite", of: "records", sizes: [100, 1_000, 10_000, 50_000]) {
      let store = try await LargeStore($0)
      return starting(store) { try store.openSQLite() }
    }
  }

  private static func starting(
    _ store: LargeStore, opening: @escaping @Sendable () throws -> any Persistence
  ) -> Work {
    { count in
      for _ in 0..<count {
        let reactor = ParsedDiskHit.emptyReactor(try opening())
        for resource in store.firstResources { blackHole(try await reactor.fetch(resource)) }
      }
    }
  }
}

/// Stores of one size, of each kind.
final class LargeStore: Sendable {
  let count: Int
  let articles: StoredArticles
  private let sqlitePath: String
  let rawPath: String
  private let files: URL
  /// The resources of a first screen, from all over the store.
  let firstResources: [Resource]
  let firstKeys: [RecordKey]
  let rawFiles: [String]
  private let directory: TemporaryDirectory

  init(_ count: Int) async throws {
    self.count = count
    articles = try StoredArticles(count)
    let directory = try TemporaryDirectory()
    self.directory = directory
    sqlitePath = directory.path("records.sqlite")
    rawPath = directory.path("raw.sqlite")
    files = directory.url.appending(path: "files")
    let first = (0..<20).map { $0 * count / 20 }
    firstResources = first.map { [articles] in articles.resources[$0] }
    firstKeys = first.map { [articles] in articles.keys[$0] }
    rawFiles = firstKeys.map { directory.path("\($0.digest).raw") }
    try await articles.save(in: try openSQLite())
    try await articles.save(in: openFiles())
    try articles.save(in: try RawSQLite(rawPath))
    for path in rawFiles { try RawFiles.save(StoredArticles.rawHead + articles.body, to: path) }
  }

  func openSQLite() throws -> SQLitePersistence { try SQLitePersistence(path: sqlitePath, countLimit: 200_000) }
  func openFiles() -> FilePersistence { FilePersistence(directory: files, countLimit: 200_000) }
}
