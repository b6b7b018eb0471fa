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

    func interrupt() { writer.interrupt() }

    /// Copies each row that can be read, from both ends up to the damage.
    ///
    /// The damaged database has a separate connection. If it were attached to this one, its damage
    /// would make the transaction fail.
    ///
    /// - Throws: `DatabaseError`, also if the damaged database cannot be read for another reason
    ///   than its damage.
    func adopt(setAside path: String) throws {
      // A disk error may look like damage once. Rows that are there already are skipped.
      for _ in 0..<2 { try copyRows(of: path) }
    }

    private func copyRows(of path: String) throws {
      let damaged = try unlessDamaged { try DatabaseQueue(path: path, configuration: reading) }
      guard let damaged else { return }
      try writer.write(waits: true) { db in
        // Without a transaction, which would fail at its end.
        try damaged.unsafeRead { damaged in
          for order in ["ASC", "DESC"] {
            try copy(
              "number, scope, id, lane, process, until, bytes", of: "outbox_entry", "number \(order)", damaged, db)
            try copy("scope, temporary, id", of: "outbox_identity", "rowid \(order)", damaged, db)
          }
          try continueNumbers(damaged, db)
          try continueIdentity(damaged, db)
        }
      }
    }

    /// Copies rows one by one, up to a damaged one.
    private func copy(
      _ columns: String, of table: String, _ order: String, _ damaged: Database, _ db: Database
    ) throws {
      let marks = columns.split(separator: ",").map { _ in "?" }.joined(separator: ", ")
      let query = "SELECT \(columns) FROM \(table) ORDER BY \(order)"
      guard let rows = try unlessDamaged({ try Row.fetchCursor(damaged, sql: query) }) else { return }
      while let row = try unlessDamaged(rows.next) {
        try db.execute(
          sql: "INSERT OR IGNORE INTO \(table) (\(columns)) VALUES (\(marks))",
          arguments: StatementArguments(row.databaseValues))
      }
    }

    /// Takes over the last number, which a removed entry may have had.
    private func continueNumbers(_ damaged: Database, _ db: Database) throws {
      let query = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox_entry'"
      guard let last = try unlessDamaged({ try Int64.fetchOne(damaged, sql: query) }) else { return }
      guard try last > Int64.fetchOne(db, sql: query) ?? 0 else { return }
      try db.execute(sql: "DELETE FROM sqlite_sequence WHERE name = 'outbox_entry'")
      try db.execute(sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('outbox_entry', ?)", arguments: [last])
    }

    /// Takes over the identity. The entries that are not there were removed before.
    private func continueIdentity(_ damaged: Database, _ db: Database) throws {
      let query = "SELECT identity FROM outbox_store"
      guard let identity = try unlessDamaged({ try DatabaseValue.fetchOne(damaged, sql: query) }) else { return }
      try db.execute(sql: "UPDATE outbox_store SET identity = ?", arguments: [identity])
    }

    /// Returns the result of a reading, or `nil` if it fails because of the damage.
    private func unlessDamaged<Value>(_ body: () throws -> Value?) throws -> Value? {
      do {
        return try body()
      } catch let error as DatabaseError where isDamage(error) {
        return nil
      }
    }

    private func isDamage(_ error: DatabaseError) -> Bool {
      if SQLiteDamage(error) != nil { return true }
      // A table is missing, or the disk cannot read a sector.
      return error.resultCode == .SQLITE_ERROR || error.extendedResultCode == .SQLITE_IOERR_CORRUPTFS
    }
  }
#endif
