#if SQLite
  import Foundation
  import GRDB
  import GRDBSQLite
  import HTTPCaching
  import Synchronization

  /// The open connections to one file: one that writes, one for lists, and several that load. All calls are
  /// synchronous: a read costs a few microseconds so, and ten times that across GRDB's executors.
  final class SQLiteConnections: Sendable {
    /// The file that they opened, whatever has its name now.
    let identity: SQLiteFiles.Identity
    /// Read when they are opened: so whoever needs it later waits for nobody.
    let secretKey: SecretKey?
    private let readers: [SQLiteReader]
    private let next = Atomic(0)
    /// How long the writer waits for other processes, in milliseconds.
    private let busyTimeout: Int
    private let files: SQLiteFiles
    /// Opened when it is first asked for, which a program's first screen does not.
    private let lister = Mutex<DatabaseQueue?>(nil)
    /// Last, so that it is closed last: what is in `-wal` is then moved into the database, and `-wal` removed.
    private let writer: DatabaseQueue

    /// - Parameter files: the database's file is there. Its lock is held.
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

    /// Loads what is stored under a key's digest, on a connection that is free where there is one.
    func load(_ digest: String) throws -> SQLiteRows.Stored? {
      for reader in readers {
        if let stored = try reader.loadIfFree(digest) { return stored }
      }
      return try readers[next.wrappingAdd(1, ordering: .relaxed).oldValue % readers.count].load(digest)
    }

    /// Runs `body` on the connection for lists, after others. One statement sees one state of the database.
    ///
    /// - Throws: what `body` throws; `DatabaseError`, also where the file is another's by now.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try openLister().unsafeRead(body) }

    private func openLister() throws -> DatabaseQueue {
      try lister.withLock { lister in
        if let lister { return lister }
        let opened = try DatabaseQueue(path: files.path, configuration: Self.reading(files.system))
        // The lock of the files is not held: another process may have set them aside, and begun new ones.
        guard try files.identity() == identity else {
          throw DatabaseError(resultCode: .SQLITE_READONLY_DBMOVED, message: "\(files.path) is another file by now")
        }
        lister = opened
        return opened
      }
    }

    /// Runs `body` in a transaction, after the other writers; it is committed when this returns.
    ///
    /// - Parameter waits: whether to wait for other processes.
    func write<Value>(waits: Bool, _ body: (Database) throws -> Value) throws -> Value {
      try writer.writeWithoutTransaction { db in
        if !waits { try db.execute(sql: "PRAGMA busy_timeout = 0") }
        defer { if !waits { try? db.execute(sql: "PRAGMA busy_timeout = \(busyTimeout)") } }
        // One whose rollback failed.
        if db.isInsideTransaction { try db.rollback() }
        // GRDB would parse BEGIN and COMMIT each time, which takes a third of a small transaction's time.
        try SQLiteStatement(db, "BEGIN IMMEDIATE").run()
        do {
          let value = try body(db)
          try SQLiteStatement(db, "COMMIT").run()
          return value
        } catch {
          // SQLite has ended it already after some errors.
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
      // One that cannot be rolled back is an error of the next, and no trap.
      configuration.allowsUnsafeTransactions = true
      configuration.prepareDatabase { db in
        // Before anything is changed.
        let wasWritable = isWritable(db)
        try SQLiteSchema.check(db, files.path)
        // The system has opened it for writing, and then its header was read.
        if wasWritable, !isWritable(db) {
          throw SQLiteDamage.corrupt("its header names a format that cannot be written")
        }
        try db.execute(sql: "PRAGMA secure_delete = ON; PRAGMA journal_size_limit = \(4 << 20)")
      }
      return configuration
    }

    private static func isWritable(_ db: Database) -> Bool { sqlite3_db_readonly(db.sqliteConnection, "main") == 0 }

    /// GRDB sets NORMAL when it has set the journal's mode, which is after `prepareDatabase`: so it is read back.
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
