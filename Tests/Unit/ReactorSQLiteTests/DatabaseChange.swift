#if SQLite
  // Apart from the tests: GRDB has a Record and a Record.Failure too.
  import Foundation
  import GRDB
  import GRDBSQLite
  import ReactorCore
  import TestSupport

  @testable import ReactorSQLite

  func pragma(_ name: String, _ db: Database) throws -> String? {
    try Row.fetchOne(db, sql: "PRAGMA \(name)").flatMap { row in
      String.fromDatabaseValue(row[0]) ?? Int.fromDatabaseValue(row[0]).map(String.init)
    }
  }

  /// Returns the number of pages that the writing connection and a reading one have read from disk.
  func pagesRead(_ persistence: SQLitePersistence) throws -> Int {
    let count = { (db: Database) -> Int in
      var (current, highest): (Int32, Int32) = (0, 0)
      sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_CACHE_MISS, &current, &highest, 0)
      return Int(current)
    }
    return try persistence.database.manage(count) + persistence.database.inspect(count)
  }

  /// Leaves the database so much room to grow.
  func limitPages(_ persistence: SQLitePersistence, _ count: Int) throws {
    try persistence.database.manage { try $0.execute(sql: "PRAGMA max_page_count = \(count)") }
  }

  /// A database as the first release made it.
  func makeFirstVersion(_ path: String, _ keys: [RecordKey]) throws {
    try FileManager.default.createDirectory(
      atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    let queue = try DatabaseQueue(path: path)
    try SQLiteSchema.migrator.migrate(queue, upTo: "reactor-1")
    try queue.write { db in
      for key in keys {
        let change = SQLiteRows.Change(.sample(key), for: key, at: Date())
        try db.execute(
          sql:
            "INSERT INTO reactor_record (digest, scope, url, fetched_at, size, head, body)"
            + " VALUES (?, ?, ?, ?, ?, ?, ?)",
          arguments: [
            key.digest, Data(key.scope.name.utf8), key.url, change.fetchedAt, change.size, Data(change.head),
            change.body,
          ])
      }
    }
  }

  /// Changes the database at `path` behind the persistence's back.
  func change(_ path: String, _ sql: String) throws {
    try DatabaseQueue(path: path).write { try $0.execute(sql: sql) }
  }

  /// The numbers of the first row that the statement gives.
  func numbers(_ path: String, _ sql: String) throws -> [Int] {
    try DatabaseQueue(path: path).read { db in
      try Row.fetchOne(db, sql: sql).map { row in row.databaseValues.compactMap(Int.fromDatabaseValue) } ?? []
    }
  }

  /// The texts of the last column of every row.
  func lines(_ path: String, _ sql: String) throws -> [String] {
    try DatabaseQueue(path: path).read { db in
      try Row.fetchAll(db, sql: sql).compactMap { $0.databaseValues.last.flatMap(String.fromDatabaseValue) }
    }
  }

  /// Moves everything from `-wal` into the database.
  func checkpoint(_ path: String) throws {
    _ = try DatabaseQueue(path: path).writeWithoutTransaction { try $0.checkpoint(.truncate) }
  }

  /// Overwrites a part of a file; what is open stays open.
  func overwrite(_ path: String, at offset: Int, with bytes: Data) throws {
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: bytes)
    try file.close()
  }

  func size(_ path: String) throws -> Int {
    try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
  }
#endif
