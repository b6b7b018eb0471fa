#if SQLite
  import Foundation
  import GRDB
  import GRDBSQLite

  /// A connection that writes, with its settings.
  struct SQLiteWritingConnection: Sendable {
    private let queue: DatabaseQueue
    /// The time to wait for other processes, in milliseconds.
    private let busyTimeout: Int

    /// Opens the connection, and migrates the database.
    ///
    /// - Parameters:
    ///   - files: The files of a database that exists. The caller holds their lock.
    ///   - synchronization: The events that a commit survives.
    ///   - check: Throws if this release may not change the database. Changes nothing.
    ///   - migrate: Creates the tables or migrates them.
    init(
      _ files: SQLiteFiles, _ synchronization: SQLitePersistence.Synchronization,
      check: @escaping @Sendable (Database, String) throws -> Void, _ migrate: (DatabaseQueue) throws -> Void
    ) throws {
      busyTimeout = Int(files.system.lockWait / .milliseconds(1))
      queue = try DatabaseQueue(path: files.path, configuration: Self.writing(files, check: check))
      try migrate(queue)
      try queue.writeWithoutTransaction { try Self.set(synchronization, $0) }
    }

    /// Runs `body` in a transaction, after other writers. When the method returns, the transaction
    /// is committed.
    ///
    /// - Parameter waits: A Boolean value that indicates whether to wait for other processes.
    func write<Value>(waits: Bool, _ body: (Database) throws -> Value) throws -> Value {
      try queue.writeWithoutTransaction { db in
        if !waits { try db.execute(sql: "PRAGMA busy_timeout = 0") }
        defer { if !waits { try? db.execute(sql: "PRAGMA busy_timeout = \(busyTimeout)") } }
        // An earlier transaction whose rollback failed.
        if db.isInsideTransaction { try db.rollback() }
        // GRDB would parse BEGIN and COMMIT each time, which takes a third of the time of a small
        // transaction.
        try SQLiteStatement(db, "BEGIN IMMEDIATE").run()
        do {
          let value = try body(db)
          try SQLiteStatement(db, "COMMIT").run()
          return value
        } catch {
          // After some errors, SQLite has already rolled the transaction back.
          if db.isInsideTransaction { try? db.rollback() }
          throw error
        }
      }
    }

    /// Makes the statement under way fail, from any thread.
    func interrupt() { queue.interrupt() }

    /// Runs `body` without a transaction.
    func manage<Value>(_ body: (Database) throws -> Value) throws -> Value {
      try queue.writeWithoutTransaction { db in
        if db.isInsideTransaction { try db.rollback() }
        return try body(db)
      }
    }
  }

  extension SQLiteWritingConnection {
    private static func writing(
      _ files: SQLiteFiles, check: @escaping @Sendable (Database, String) throws -> Void
    ) -> Configuration {
      var configuration = SQLiteConnections.reading(files.system)
      configuration.readonly = false
      configuration.journalMode = .wal
      // With this setting, a failed rollback is an error of the next transaction and not a trap.
      configuration.allowsUnsafeTransactions = true
      configuration.prepareDatabase { db in
        // Before anything is changed.
        let wasWritable = isWritable(db)
        try check(db, files.path)
        // The system opened the file for writing, but SQLite became read-only when it read the
        // header.
        if wasWritable, !isWritable(db) {
          throw SQLiteDamage.corrupt("its header has a format version that this SQLite cannot write")
        }
        try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA journal_size_limit = \(4 << 20)")
      }
      return configuration
    }

    private static func isWritable(_ db: Database) -> Bool { sqlite3_db_readonly(db.sqliteConnection, "main") == 0 }

    /// Sets how commits are synchronized, and verifies the setting. GRDB sets NORMAL with the
    /// journal mode, which is after `prepareDatabase`.
    private static func set(_ synchronization: SQLitePersistence.Synchronization, _ db: Database) throws {
      let level = synchronization == .full ? 2 : 1
      try db.execute(sql: "PRAGMA synchronous = \(level); PRAGMA fullfsync = \(level == 2 ? 1 : 0)")
      guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == level else {
        throw DatabaseError(message: "PRAGMA synchronous = \(level) has no effect")
      }
    }
  }
#endif
