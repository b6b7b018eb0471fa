#if SQLite
  import Foundation
  import GRDB

  /// The migrations of one kind of store, and the tables that belong to it.
  struct SQLiteMigrations: Sendable {
    /// The names of its migrations begin with this and a dash, those of its tables with this and an
    /// underscore.
    let prefix: String
    /// Returns the error for a database of a newer release, at a path.
    let newer: @Sendable (String) -> any Error
    let migrator: DatabaseMigrator

    /// Verifies that this release may change the database. Changes nothing.
    ///
    /// - Throws: The error of ``newer``, ``SQLitePersistenceError/foreign(path:)``,
    ///   `DatabaseError`.
    func check(_ db: Database, _ path: String) throws {
      let tables = try texts(
        db, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
      guard !tables.isEmpty else { return }
      let names = try tables.contains("grdb_migrations") ? migrations(db, tables, path) : []
      let migrations = names.filter { $0.hasPrefix("\(prefix)-") }
      guard migrations.isSubset(of: migrator.migrations) else { throw newer(path) }
      let isOurs =
        !migrations.isEmpty || tables.contains { $0.hasPrefix("\(prefix)_") } || tables == ["grdb_migrations"]
      guard isOurs else { throw SQLitePersistenceError.foreign(path: path) }
    }

    private func migrations(_ db: Database, _ tables: Set<String>, _ path: String) throws -> Set<String> {
      do {
        return try texts(db, "SELECT identifier FROM grdb_migrations")
      } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
        // The table is not GRDB's, or no longer is.
        guard tables.contains(where: { $0.hasPrefix("\(prefix)_") }) else {
          throw SQLitePersistenceError.foreign(path: path)
        }
        throw SQLiteDamage.foreignSchema
      }
    }

    /// Creates the tables or migrates them.
    ///
    /// - Throws: ``SQLiteDamage/foreignSchema`` if the tables differ from the migrations' result.
    func migrate(_ writer: DatabaseQueue, _ isIntact: (Database) throws -> Bool) throws {
      do {
        try migrator.migrate(writer)
      } catch let error as DatabaseError
        where error.resultCode != .SQLITE_ERROR && error.resultCode != .SQLITE_CONSTRAINT
      {
        throw error
      } catch {
        throw SQLiteDamage.foreignSchema
      }
      guard try writer.writeWithoutTransaction(isIntact) else { throw SQLiteDamage.foreignSchema }
    }

    /// Returns the texts of the first column. Skips values that are not text.
    private func texts(_ db: Database, _ sql: String) throws -> Set<String> {
      var texts: Set<String> = []
      let rows = try Row.fetchCursor(db, sql: sql)
      while let row = try rows.next() {
        if let text = String.fromDatabaseValue(row[0]) { texts.insert(text) }
      }
      return texts
    }
  }
#endif
