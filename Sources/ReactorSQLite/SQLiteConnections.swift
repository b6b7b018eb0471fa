#if SQLite
  import Foundation
  import GRDB
  import GRDBSQLite
  import HTTPCaching
  import Synchronization

  /// The open connections to one file: one for writes, one for lists, and several for loads.
  ///
  /// All calls are synchronous. A read then takes a few microseconds. With GRDB's executors, it
  /// would take ten times as long.
  final class SQLiteConnections: Sendable {
    /// The identity of the opened file, which another file at the path does not have.
    let identity: SQLiteFiles.Identity
    /// The key of the store, read when the connections are opened. So reading it later never waits.
    let secretKey: SecretKey?
    private let readers: [SQLiteReader]
    private let next = Atomic(0)
    /// The time that the writer waits for other processes, in milliseconds.
    private let busyTimeout: Int
    private let files: SQLiteFiles
    /// The connection for lists. It is opened on first use, because a program's first screen does
    /// not need it.
    private let lister = Mutex<DatabaseQueue?>(nil)
    /// The writer is the last property, so it is closed last. Closing it moves `-wal` into the
    /// database and removes `-wal`.
    private let writer: DatabaseQueue

    /// Opens the writer and the readers.
    ///
    /// - Parameter files: The files of a database that exists. The caller holds their lock.
    /// - Throws: `DatabaseError`, ``SQLiteDamage``, ``SQLitePersistenceError``.
    init(_ files: SQLiteFiles, _ synchronization: SQLitePersistence.Synchronization, readers count: Int) throws {
      guard let identity = try files.identity() else {
        throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
      }
      self.identity = identity
      self.files = files
      busyTimeout = Int(files.system.lockWait / .milliseconds(1))
      writer = try DatabaseQueue(path: files.path, configuration: Self.writing(files))
      try SQLiteSchema.migrate(writer)
      secretKey = try writer.writeWithoutTransaction(SQLiteSchema.secretKey)
      try writer.writeWithoutTransaction { try Self.set(synchronization, $0, files.path) }
      readers = try (0..<max(1, count)).map { _ in try SQLiteReader(files.path) }
    }

    /// Loads the row with a key's digest, on a free connection if there is one.
    func load(_ digest: String) throws -> SQLiteRows.Stored? {
      for reader in readers {
        if let stored = try reader.loadIfFree(digest) { return stored }
      }
      return try readers[next.wrappingAdd(1, ordering: .relaxed).oldValue % readers.count].load(digest)
    }

    /// Runs `body` on the connection for lists, after others. One statement sees one state of the
    /// database.
    ///
    /// - Throws: The error of `body`; `DatabaseError`, also if another file is at the path by now.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try openLister().unsafeRead(body) }

    private func openLister() throws -> DatabaseQueue {
      try lister.withLock { lister in
        if let lister { return lister }
        let opened = try DatabaseQueue(path: files.path, configuration: Self.reading(files.system))
        // The caller does not hold the lock, so another process may have replaced the files.
        guard try files.identity() == identity else {
          throw DatabaseError(
            resultCode: .SQLITE_READONLY_DBMOVED,
            message: "\(files.path) was replaced by another file while it was open")
        }
        lister = opened
        return opened
      }
    }

    /// Runs `body` in a transaction, after other writers. When the method returns, the transaction
    /// is committed.
    ///
    /// - Parameter waits: A Boolean value that indicates whether to wait for other processes.
    func write<Value>(waits: Bool, _ body: (Database) throws -> Value) throws -> Value {
      try writer.writeWithoutTransaction { db in
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
          // After some errors, SQLite has already ended the transaction.
          if db.isInsideTransaction { try? db.rollback() }
          throw error
        }
      }
    }

    /// Runs `body` on the writer, without a transaction.
    func manage<Value>(_ body: (Database) throws -> Value) throws -> Value {
      try writer.writeWithoutTransaction { db in
        if db.isInsideTransaction { try db.rollback() }
        return try body(db)
      }
    }
  }

  extension SQLiteConnections {
    static func reading(_ system: SQLiteSystem) -> Configuration {
      var configuration = Configuration()
      configuration.label = "Reactor"
      configuration.busyMode = .timeout(system.lockWait / .seconds(1))
      configuration.foreignKeysEnabled = false
      configuration.readonly = true
      return configuration
    }

    private static func writing(_ files: SQLiteFiles) -> Configuration {
      var configuration = reading(files.system)
      configuration.readonly = false
      configuration.journalMode = .wal
      // With this setting, a failed rollback is an error of the next transaction and not a trap.
      configuration.allowsUnsafeTransactions = true
      configuration.prepareDatabase { db in
        // Before anything is changed.
        let wasWritable = isWritable(db)
        try SQLiteSchema.check(db, files.path)
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
    private static func set(
      _ synchronization: SQLitePersistence.Synchronization, _ db: Database, _ path: String
    ) throws {
      let level = synchronization == .full ? 2 : 1
      try db.execute(sql: "PRAGMA synchronous = \(level); PRAGMA fullfsync = \(level == 2 ? 1 : 0)")
      guard try Int.fetchOne(db, sql: "PRAGMA synchronous") == level else {
        throw DatabaseError(message: "PRAGMA synchronous = \(level) has no effect")
      }
    }
  }
#endif
