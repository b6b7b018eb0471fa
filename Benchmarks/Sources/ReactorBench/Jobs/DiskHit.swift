import Foundation
import ReactorCore
import ReactorSQLite

/// The cost of a record's bytes from disk. A screen pays it first after the program's start, before
/// parsing.
///
/// The limits read the same bytes: `open`, `fstat`, `read` and `close`; and a statement of SQLite
/// that was prepared once. They check nothing: a record of the library is checked against its
/// digest, and comes with its head made fields again.
enum DiskHit: Benchmark {
  static let name = "disk-hit"
  static let question = "bytes of a record on disk, 1 KB and 50 KB, file and SQLite"

  static func measure(_ bench: Bench) async throws {
    for size in Size.allCases {
      let disk = try await Disk(try StoredArticles(500, size))
      try await bench.compare(
        "disk hit, \(size.rawValue), file, bytes only", to: "open and read", target: .ratio(2),
        job: loading(disk.articles.keys, from: disk.files)
      ) { count in
        for index in 0..<count { blackHole(try RawFiles.load(disk.paths[index % disk.paths.count])) }
      }
      let keys = disk.articles.keys
      try await bench.compare(
        "disk hit, \(size.rawValue), SQLite, bytes only", to: "a prepared statement", target: .ratio(2),
        job: loading(keys, from: disk.sqlite)
      ) { count in
        for index in 0..<count { blackHole(try disk.raw.load(keys[index % keys.count].digest)) }
      }
    }
  }

  static func grow(_ growth: Growth) async throws {
    let sizes = [100, 1_000, 10_000, 50_000]
    let directory = try TemporaryDirectory()
    try await growth.curve("disk hit, file", of: "records", sizes: sizes) { size in
      let articles = try StoredArticles(size)
      let files = FilePersistence(directory: directory.url.appending(path: "\(size)"), countLimit: 200_000)
      try await articles.save(in: files)
      return loading(articles.keys, from: files)
    }
    try await growth.curve("disk hit, SQLite", of: "records", sizes: sizes) { size in
      let articles = try StoredArticles(size)
      let sqlite = try SQLitePersistence(path: directory.path("\(size).sqlite"), countLimit: 200_000)
      try await articles.save(in: sqlite)
      return loading(articles.keys, from: sqlite)
    }
  }

  private static func loading(_ keys: [RecordKey], from persistence: some Persistence) -> Work {
    // Spread, as a program's reads are, and from turn to turn over all.
    let step = 7_919
    var place = 0
    return { count in
      for _ in 0..<count {
        place = (place + step) % keys.count
        let record = try await persistence.load(keys[place])
        guard let record else { throw Unexpected(description: "no record") }
        blackHole(record)
      }
    }
  }
}

/// The same records in each kind of store.
final class Disk {
  let directory: TemporaryDirectory
  let articles: StoredArticles
  let files: FilePersistence
  let sqlite: SQLitePersistence
  /// Files with the same contents as a record's file.
  let paths: [String]
  let raw: RawSQLite

  init(_ articles: StoredArticles) async throws {
    self.articles = articles
    let directory = try TemporaryDirectory()
    self.directory = directory
    files = FilePersistence(directory: directory.url.appending(path: "files"))
    sqlite = try SQLitePersistence(path: directory.path("records.sqlite"))
    raw = try RawSQLite(directory.path("raw.sqlite"))
    paths = articles.keys.map { directory.path("\($0.digest).raw") }
    try await articles.save(in: files)
    try await articles.save(in: sqlite)
    try articles.save(in: raw)
    for path in paths { try RawFiles.save(StoredArticles.rawHead + articles.body, to: path) }
  }
}
