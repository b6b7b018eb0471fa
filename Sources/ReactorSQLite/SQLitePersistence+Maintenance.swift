#if SQLite
  import Foundation
  import GRDB
  import ReactorCore

  /// For commands and tests: a program that only stores needs none of it.
  extension SQLitePersistence {
    /// Reads everything: SQLite's own check of the database, and every record. It changes nothing, and takes as long as
    /// reading the file does; loads and saves go on meanwhile.
    ///
    /// - Returns: what is corrupt; nothing where all is well. A database that was set aside, when it was opened or
    ///   since, is among it where no `load` has told it yet.
    /// - Throws: ``SQLitePersistenceError`` where the database cannot be read, `CancellationError`.
    @concurrent public func verify() async throws -> [SQLiteDefect] {
      let notice = database.takeNotice().map { [SQLiteDefect.database($0.description)] } ?? []
      return try outward(.verify) {
        try notice + database.inspect { try SQLiteDefect.ofDatabase($0) + SQLiteDefect.ofRecords($0) }
      }
    }

    /// The same, of a database at a path that is not opened for use: it is read, and nothing else, and what is damaged stays where
    /// it is. What belongs to another program is a defect too.
    ///
    /// - Throws: ``SQLitePersistenceError`` where the database cannot be read, `CancellationError`.
    @concurrent public static func verify(path: String) async throws -> [SQLiteDefect] {
      let files = try SQLiteFiles(path)
      do {
        return try defects(of: files)
      } catch {
        if let damage = SQLiteDamage(error) { return [.database(damage.description)] }
        throw SQLitePersistenceError.outward(.verify, files.path, error)
      }
    }

    private static func defects(of files: SQLiteFiles) throws -> [SQLiteDefect] {
      let reader = try DatabaseQueue(path: files.path, configuration: SQLiteConnections.reading)
      return try reader.unsafeRead { db in
        try SQLiteSchema.check(db, files.path)
        return try SQLiteDefect.ofDatabase(db) + SQLiteDefect.ofRecords(db)
      }
    }

    /// Gives the space of removed records back to the disk (`VACUUM`), which otherwise only later records reuse. It takes as
    /// long as writing the file anew and about its size on the disk meanwhile; saves wait.
    ///
    /// - Throws: ``SQLitePersistenceError``.
    @concurrent public func compact() async throws {
      try outward(.compact) { try database.manage(Self.compact) }
    }

    static func compact(_ db: Database) throws {
      try db.execute(sql: "VACUUM")
      try db.checkpoint(.truncate)
    }
  }
#endif
