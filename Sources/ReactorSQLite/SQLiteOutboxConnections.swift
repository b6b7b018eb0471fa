#if SQLite
  import Foundation
  import GRDB

  /// The connection of an outbox to one file.
  final class SQLiteOutboxConnections: SQLiteOpened {
    let identity: SQLiteFiles.Identity
    let writer: SQLiteWritingConnection

    /// - Parameter files: The files of a database that exists. The caller holds their lock.
    /// - Throws: `DatabaseError`, ``SQLiteDamage``, ``SQLitePersistenceError``,
    ///   `OutboxStorageError.newerFormat`.
    init(_ files: SQLiteFiles) throws {
      guard let identity = try files.identity() else {
        throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
      }
      self.identity = identity
      writer = try SQLiteWritingConnection(
        files, .full, check: SQLiteOutboxSchema.check, SQLiteOutboxSchema.migrate)
    }

    func isIntact() throws -> Bool { try writer.manage(SQLiteOutboxSchema.isIntact) }

    /// Copies each row that can be read, from both ends up to the damage.
    func adopt(setAside path: String) throws {
      try writer.manage { db in
        try db.execute(sql: "ATTACH DATABASE ? AS damaged", arguments: [path])
        defer { try? db.execute(sql: "DETACH DATABASE damaged") }
        try db.inTransaction(.immediate) {
          for order in ["ASC", "DESC"] {
            try? copy("number, scope, id, lane, process, until, bytes", of: "outbox_entry", "number \(order)", db)
            try? copy("scope, temporary, id", of: "outbox_identity", "rowid \(order)", db)
          }
          try? continueNumbers(db)
          return .commit
        }
      }
    }

    /// Copies rows one by one, so that those before a damaged one stay.
    private func copy(_ columns: String, of table: String, _ order: String, _ db: Database) throws {
      let marks = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
      let rows = try Row.fetchCursor(db, sql: "SELECT \(columns) FROM damaged.\(table) ORDER BY \(order)")
      while let row = try rows.next() {
        try? db.execute(
          sql: "INSERT OR IGNORE INTO main.\(table) (\(columns)) VALUES (\(marks))",
          arguments: StatementArguments(row.databaseValues))
      }
    }

    /// Takes over the last number, which a removed entry may have had.
    private func continueNumbers(_ db: Database) throws {
      let last = try ["main", "damaged"].compactMap { schema in
        try Int64.fetchOne(db, sql: "SELECT seq FROM \(schema).sqlite_sequence WHERE name = 'outbox_entry'")
      }
      guard let last = last.max() else { return }
      try db.execute(sql: "DELETE FROM main.sqlite_sequence WHERE name = 'outbox_entry'")
      try db.execute(sql: "INSERT INTO main.sqlite_sequence (name, seq) VALUES ('outbox_entry', ?)", arguments: [last])
    }
  }
#endif
