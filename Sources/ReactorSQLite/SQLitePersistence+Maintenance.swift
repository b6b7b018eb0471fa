#if SQLite
  import Foundation
  import GRDB
  public import HTTPCaching

  /// For commands and tests: a program that only stores needs none of it.
  extension SQLitePersistence {
    /// Reads everything: SQLite's own check of the database, and every record. It changes nothing, and takes as long as
    /// reading the file does; loads and saves go on meanwhile.
    ///
    /// - Returns: what is corrupt: a record by its key's digest, all else by the path; nothing where all is well. A database that was set aside, when it was opened or
    ///   since, is among it where no `load` has told it yet.
    /// - Throws: ``SQLitePersistenceError`` where the database cannot be read, `CancellationError`.
    @concurrent public func verify() async throws -> [RecordDefect] {
      let verification = SQLiteVerification(path: database.files.path)
      let notice = database.takeNotice().map { [verification.defect($0)] } ?? []
      return try outward(.verify) {
        do {
          return try notice + database.inspect(verification.defects)
        } catch {
          // Of what every connection reads first.
          guard let damage = SQLiteDamage(error) else { throw error }
          return notice + [verification.defect(damage)]
        }
      }
    }

    /// The same, of a database at a path that is not opened for use: it is read, and nothing else, and what is damaged stays where
    /// it is.
    ///
    /// - Throws: ``SQLitePersistenceError`` where the database cannot be read, or is another program's; `CancellationError`.
    @concurrent public static func verify(path: String) async throws -> [RecordDefect] {
      let files = try SQLiteFiles(path)
      do {
        return try defects(of: files)
      } catch {
        if let damage = SQLiteDamage(error) { return [SQLiteVerification(path: files.path).defect(damage)] }
        throw SQLitePersistenceError.outward(.verify, files.path, error)
      }
    }

    private static func defects(of files: SQLiteFiles) throws -> [RecordDefect] {
      let reader = try DatabaseQueue(path: files.path, configuration: SQLiteConnections.reading(files.system))
      return try reader.unsafeRead { db in
        try SQLiteSchema.check(db, files.path)
        return try SQLiteVerification(path: files.path).defects(db)
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
