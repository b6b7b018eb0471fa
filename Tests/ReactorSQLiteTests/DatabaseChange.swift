#if SQLite
  // Apart from the tests: GRDB has a Record and a RecordError too.
  import Foundation
  import GRDB

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
