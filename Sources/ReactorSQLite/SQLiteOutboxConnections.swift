#if SQLite
  import Foundation
  import GRDB

  /// The connection of an outbox to one file.
  final class SQLiteOutboxConnections: SQLiteOpened {
    let identity: SQLiteFiles.Identity
    let writer: SQLiteWritingConnection
    private let reading: Configuration

    /// - Parameter files: The files of a database that exists. The caller holds their lock.
    /// - Throws: `DatabaseError`, ``SQLiteDamage``, ``SQLitePersistenceError``,
    ///   `OutboxStorageError.newerFormat`.
    init(_ files: SQLiteFiles) throws {
      guard let identity = try files.identity() else {
        throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
      }
      self.identity = identity
      reading = SQLiteConnections.reading(files.system)
      writer = try SQLiteWritingConnection(
        files, .full, check: SQLiteOutboxSchema.check, SQLiteOutboxSchema.migrate)
    }

    func isIntact() throws -> Bool { try writer.manage(SQLiteOutboxSchema.isIntact) }

    /// Copies each row that can be read, from both ends up to the damage.
    ///
    /// The damaged database has a connection of its own. If it were attached to this one, its
    /// damage would make the transaction fail.
    func adopt(setAside path: String) throws {
      let damaged = try DatabaseQueue(path: path, configuration: reading)
      try writer.write(waits: true) { db in
        // Without a transaction, which would fail at its end.
        damaged.unsafeRead { damaged in
          for order in ["ASC", "DESC"] {
            try? copy(
              "number, scope, id, lane, process, until, bytes", of: "outbox_entry", "number \(order)", damaged, db)
            try? copy("scope, temporary, id", of: "outbox_identity", "rowid \(order)", damaged, db)
          }
          try? continueNumbers(damaged, db)
        }
      }
    }

    /// Copies rows one by one, so that those before a damaged one stay.
    private func copy(
      _ columns: String, of table: String, _ order: String, _ damaged: Database, _ db: Database
    ) throws {
      let marks = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
      let rows = try Row.fetchCursor(damaged, sql: "SELECT \(columns) FROM \(table) ORDER BY \(order)")
      while let row = try rows.next() {
        try? db.execute(
          sql: "INSERT OR IGNORE INTO \(table) (\(columns)) VALUES (\(marks))",
          arguments: StatementArguments(row.databaseValues))
      }
    }

    /// Takes over the last number, which a removed entry may have had.
    private func continueNumbers(_ damaged: Database, _ db: Database) throws {
      let last = try [damaged, db].compactMap {
        try Int64.fetchOne($0, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'outbox_entry'")
      }
      guard let last = last.max() else { return }
      try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'outbox_entry'")
      try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox_entry', ?)", arguments: [last])
    }
  }
#endif
