import Foundation
import ReactorCore
import ReactorSQLite

/// The cost of a saved record: after the answer of one fetch, and for a screen full of answers at
/// once.
///
/// The limit is SQLite in WAL mode with a statement that was prepared once, alone and with fifty in
/// a transaction. It has one table and one index; the library's table has an index by URL and one
/// by use, a count that is always right, and overwrites deleted bytes. A second limit has those
/// too, and shows what is SQLite's part.
enum Save: Benchmark {
  static let name = "save"
  static let question = "saving a record of 1 KB, alone and fifty at once"

  static func measure(_ bench: Bench) async throws {
    let disk = try await Disk(try StoredArticles(500))
    let records = (0..<500).map(disk.articles.record)
    let same = try SameTable(disk.directory.path("same.sqlite"))
    let alone = saving(records, disk.articles.keys, in: disk.sqlite)
    try await bench.compare("save alone, SQLite", to: "raw SQLite, WAL", target: .ratio(1.3), job: alone) { count in
      for index in 0..<count { try disk.saveRaw(index % 500) }
    }
    try await bench.compare("save alone, SQLite", to: "raw SQLite, the same table", target: .ratio(1.5), job: alone) {
      count in
      for index in 0..<count { try same.save(disk.articles.keys[index % 500], disk.articles.body) }
    }
    let burst = savingFifty(records, disk.articles.keys, in: disk.sqlite)
    try await bench.compare(
      "save in a burst of fifty, SQLite", to: "raw SQLite, fifty in a transaction", target: .ratio(1.3),
      operations: (50, 50), job: burst
    ) { count in
      for round in 0..<count {
        try disk.raw.transaction { for index in 0..<50 { try disk.saveRaw((round * 50 + index) % 500) } }
      }
    }
    try await bench.compare(
      "save in a burst of fifty, SQLite", to: "raw SQLite, the same table, fifty in a transaction", target: .ratio(2),
      operations: (50, 50), job: burst
    ) { count in
      for round in 0..<count {
        try same.transaction {
          for index in 0..<50 { try same.save(disk.articles.keys[(round * 50 + index) % 500], disk.articles.body) }
        }
      }
    }
    let bytes = StoredArticles.rawHead + disk.articles.body
    try await bench.compare(
      "save alone, file", to: "open, write and rename", target: nil,
      job: saving(records, disk.articles.keys, in: disk.files)
    ) { count in
      for index in 0..<count { try RawFiles.save(bytes, to: disk.paths[index % 500]) }
    }
  }

  static func grow(_ growth: Growth) async throws {
    let directory = try TemporaryDirectory()
    try await growth.curve("save alone, SQLite", of: "records", sizes: [100, 1_000, 10_000, 50_000]) { size in
      let articles = try StoredArticles(size)
      let sqlite = try SQLitePersistence(path: directory.path("\(size).sqlite"), countLimit: 200_000)
      try await articles.save(in: sqlite)
      return saving((0..<size).map(articles.record), articles.keys, in: sqlite)
    }
    try await growth.curve("save alone, file", of: "records", sizes: [100, 1_000, 10_000]) { size in
      let articles = try StoredArticles(size)
      let files = FilePersistence(directory: directory.url.appending(path: "\(size)"), countLimit: 200_000)
      try await articles.save(in: files)
      return saving((0..<size).map(articles.record), articles.keys, in: files)
    }
    try await growFinding(growth, directory)
    let articles = try StoredArticles(1)
    let sqlite = try SQLitePersistence(path: directory.path("one.sqlite"))
    let reactor = ParsedDiskHit.emptyReactor(sqlite)
    let model = Article.list(Size.small.articles)
    try await growth.curve(
      "local writes of one resource at once, each", of: "callers", sizes: [1, 10, 100, 1_000], operations: { $0 }
    ) { size in
      { count in
        for _ in 0..<count {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<size { group.addTask { try await reactor.save(model, for: articles.resources[0]) } }
            try await group.waitForAll()
          }
        }
      }
    }
  }

  /// The look-up that an accepted change or a removal waits for: the keys that a URL has on disk.
  private static func growFinding(_ growth: Growth, _ directory: TemporaryDirectory) async throws {
    let sizes = [100, 1_000, 5_000, 20_000]
    try await growth.curve("keys of one URL, file", of: "records", sizes: sizes) { size in
      let files = FilePersistence(directory: directory.url.appending(path: "find \(size)"), countLimit: 200_000)
      return try await finding(StoredArticles(size), in: files)
    }
    try await growth.curve("keys of one URL, SQLite", of: "records", sizes: sizes) { size in
      let sqlite = try SQLitePersistence(path: directory.path("find \(size).sqlite"), countLimit: 200_000)
      return try await finding(StoredArticles(size), in: sqlite)
    }
  }

  private static func finding(_ articles: StoredArticles, in persistence: some Persistence) async throws -> Work {
    try await articles.save(in: persistence)
    let cache = HTTPCache(persistence: persistence)
    return { count in
      for index in 0..<count {
        _ = try await cache.keys(of: articles.keys[index % articles.keys.count].url, in: .shared)
      }
    }
  }

  private static func saving(_ records: [Record], _ keys: [RecordKey], in persistence: some Persistence) -> Work {
    var place = 0
    return { count in
      for _ in 0..<count {
        place = (place + 7_919) % keys.count
        try await persistence.save(records[place], for: keys[place])
      }
    }
  }

  private static func savingFifty(
    _ records: [Record], _ keys: [RecordKey], in persistence: some Persistence
  ) -> Work {
    { count in
      for round in 0..<count {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<50 {
            let place = (round * 50 + index) % keys.count
            group.addTask { try await persistence.save(records[place], for: keys[place]) }
          }
          try await group.waitForAll()
        }
      }
    }
  }
}

extension Disk {
  fileprivate func saveRaw(_ index: Int) throws {
    try raw.save(articles.keys[index].digest, head: StoredArticles.rawHead, body: articles.body)
  }
}

/// Raw SQLite with a table like the library's: two indices more, counting triggers, and overwritten
/// deletions.
private final class SameTable {
  private let raw: RawSQLite
  private let saving: RawSQLite.Statement

  init(_ path: String) throws {
    raw = try RawSQLite(path)
    try raw.execute(
      """
      PRAGMA secure_delete = ON;
      CREATE TABLE same (digest TEXT NOT NULL PRIMARY KEY, scope BLOB NOT NULL, url TEXT NOT NULL, fetched_at REAL,
        fresh_until REAL, used_at REAL, size INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL);
      CREATE INDEX same_by_url ON same (scope, url);
      CREATE INDEX same_by_use ON same (used_at, fresh_until);
      CREATE TABLE usage (id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, count INTEGER NOT NULL);
      INSERT INTO usage VALUES (1, 0, 0);
      CREATE TRIGGER same_added AFTER INSERT ON same BEGIN
        UPDATE usage SET bytes = bytes + new.size, count = count + 1;
      END;
      CREATE TRIGGER same_replaced AFTER UPDATE OF size ON same BEGIN
        UPDATE usage SET bytes = bytes + new.size - old.size;
      END;
      """)
    saving = try raw.prepare(
      """
      INSERT INTO same VALUES (?, 'shared', ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET
        scope = excluded.scope, url = excluded.url, fetched_at = excluded.fetched_at,
        fresh_until = excluded.fresh_until, used_at = excluded.used_at, size = excluded.size, head = excluded.head,
        body = excluded.body
      """)
  }

  func transaction(_ body: () throws -> Void) throws { try raw.transaction(body) }

  func save(_ key: RecordKey, _ body: Data) throws {
    let now = Date.now.timeIntervalSinceReferenceDate
    saving.bind(key.digest, 1)
    saving.bind(key.url, 2)
    for index in 3...5 { saving.bind(now, Int32(index)) }
    saving.bind(StoredArticles.rawHead.count + body.count, 6)
    saving.bind(StoredArticles.rawHead, 7)
    saving.bind(body, 8)
    try saving.run()
  }
}
