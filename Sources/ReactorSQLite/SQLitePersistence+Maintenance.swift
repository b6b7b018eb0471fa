#if SQLite
  import Foundation
  import GRDB
  public import HTTPCaching

  /// Maintenance, for commands and tests. A program that only stores records does not need it.
  extension SQLitePersistence {
    /// Runs SQLite's own check of the database and reads every record. Changes nothing.
    ///
    /// ```swift
    /// for defect in try await persistence.verify() { print(defect) }
    /// ```
    ///
    /// It takes as long as reading the file. Loads and saves continue meanwhile.
    ///
    /// - Returns: The defects: a record by its key's digest, anything else by the path. Empty if
    ///   the database is intact. A database that was set aside is among them if no ``load(_:)`` has
    ///   thrown the error yet, and no later load then throws it.
    /// - Throws: ``SQLitePersistenceError`` if the database cannot be read; `CancellationError`.
    @concurrent public func verify() async throws -> [HTTPCaching.Record.Defect] {
      let verification = SQLiteVerification(path: database.files.path)
      let notice = database.takeNotice().map { [verification.defect($0)] } ?? []
      return try outward(.verify) {
        do {
          return try notice + database.inspect(verification.defects)
        } catch {
          // An error that every connection throws on its first read.
          guard let damage = SQLiteDamage(error) else { throw error }
          return notice + [verification.defect(damage)]
        }
      }
    }

    /// Verifies a database without opening it as a store. The file is only read, and a damaged one
    /// is not set aside.
    ///
    /// ```swift
    /// let defects = try await SQLitePersistence.verify(path: "/var/cache/news/records.sqlite")
    /// ```
    ///
    /// - Parameter path: The path of the file.
    /// - Returns: The defects, as for ``verify()``.
    /// - Throws: ``SQLitePersistenceError`` if the database cannot be read or belongs to another
    ///   program; `CancellationError`.
    @concurrent public static func verify(path: String) async throws -> [HTTPCaching.Record.Defect] {
      let files = try SQLiteFiles(path)
      do {
        return try defects(of: files)
      } catch {
        if let damage = SQLiteDamage(error) { return [SQLiteVerification(path: files.path).defect(damage)] }
        throw SQLitePersistenceError.outward(.verify, files.path, error)
      }
    }

    private static func defects(of files: SQLiteFiles) throws -> [HTTPCaching.Record.Defect] {
      let reader = try DatabaseQueue(path: files.path, configuration: SQLiteConnections.reading(files.system))
      return try reader.unsafeRead { db in
        try SQLiteSchema.check(db, files.path)
        return try SQLiteVerification(path: files.path).defects(db)
      }
    }

    /// Returns the space of removed records to the disk (`VACUUM`). Without it, only later records
    /// reuse that space.
    ///
    /// ```swift
    /// try await persistence.compact()
    /// ```
    ///
    /// It rewrites the file, and meanwhile needs about its size on the disk. Saves wait.
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
