#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching
  import Synchronization

  /// The open connections to one file: one for writes, one for lists, and several for loads.
  ///
  /// All calls are synchronous. A read then takes a few microseconds. With GRDB's executors, it
  /// would take ten times as long.
  final class SQLiteConnections: SQLiteOpened {
    /// The identity of the opened file, which another file at the path does not have.
    let identity: SQLiteFiles.Identity
    /// The key of the store, read when the connections are opened. So reading it later never waits.
    let secretKey: RecordKey.SecretKey?
    private let readers: [SQLiteReader]
    private let next = Atomic(0)
    private let files: SQLiteFiles
    /// The connection for lists. It is opened on first use, because a program's first screen does
    /// not need it.
    private let lister = Mutex<DatabaseQueue?>(nil)
    /// The name under which SQLite opens the file for reading.
    private let name: String
    /// The writer is the last property, so it is closed last. Closing it moves `-wal` into the
    /// database and removes `-wal`. On a read-only disk, there is no writer.
    private let writing: SQLiteWritingConnection?

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
      name = files.path
      let writer = try SQLiteWritingConnection(
        files, synchronization, check: SQLiteSchema.check, SQLiteSchema.migrate)
      secretKey = try writer.manage(SQLiteSchema.secretKey)
      readers = try (0..<max(1, count)).map { _ in try SQLiteReader(files.path) }
      writing = writer
    }

    /// Opens only readers, for a read-only disk.
    ///
    /// Without `-wal`, SQLite could not read a database in WAL mode there, unless the file is
    /// opened as immutable.
    init(readOnly files: SQLiteFiles, readers count: Int) throws {
      guard let identity = try files.identity() else {
        throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
      }
      self.identity = identity
      self.files = files
      let hasLog = try files.system.status(files.path + "-wal").map { $0.size > 0 } ?? false
      name = hasLog ? files.path : Self.immutable(files.path)
      readers = try (0..<max(1, count)).map { [name] _ in try SQLiteReader(name) }
      secretKey = try readers.first?.secretKey()
      writing = nil
    }

    private static func immutable(_ path: String) -> String {
      let allowed = CharacterSet.urlPathAllowed.subtracting(CharacterSet(charactersIn: ";"))
      return "file:\(path.addingPercentEncoding(withAllowedCharacters: allowed) ?? path)?immutable=1"
    }

    var isReadOnly: Bool { writing == nil }

    var writer: SQLiteWritingConnection {
      get throws {
        guard let writing else { throw DatabaseError(resultCode: .SQLITE_READONLY, message: "the disk is read-only") }
        return writing
      }
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
    /// - Throws: The error of `body`; `DatabaseError`, also if the file at the path was replaced.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try openLister().unsafeRead(body) }

    private func openLister() throws -> DatabaseQueue {
      try lister.withLock { lister in
        if let lister { return lister }
        let opened = try DatabaseQueue(path: name, configuration: Self.reading(files.system))
        // The caller does not hold the lock, so another process may have replaced the files.
        guard try files.identity() == identity else {
          throw DatabaseError(
            resultCode: .SQLITE_READONLY_DBMOVED,
            message: "\(files.path) was replaced by another file while it was open; open the store again")
        }
        lister = opened
        return opened
      }
    }

    func isIntact() throws -> Bool { try read(SQLiteSchema.isIntact) }

    func interrupt() {
      writing?.interrupt()
      lister.withLock { $0?.interrupt() }
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
  }
#endif
