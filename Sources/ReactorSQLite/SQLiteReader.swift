#if SQLite
  import GRDB
  import GRDBSQLite
  import HTTPCaching
  import Synchronization

  /// A connection that loads records with one prepared statement. With GRDB's queue and statements,
  /// loading 1 KB takes half as long again.
  final class SQLiteReader: Sendable {
    private let connection: Mutex<Connection>

    /// Opens a connection that only reads.
    ///
    /// - Throws: `DatabaseError`.
    ///
    /// - Parameter name: The path of the file, or its URI.
    init(_ name: String) throws { connection = Mutex(try Connection(name)) }

    /// Returns the key of the store; `nil` if it was changed.
    func secretKey() throws -> RecordKey.SecretKey? { try connection.withLock { try $0.secretKey() } }

    /// Loads the row with a key's digest. Waits while another thread loads.
    func load(_ digest: String) throws -> SQLiteRows.Stored? {
      try connection.withLock { try $0.load(digest) }
    }

    /// Loads the row with a key's digest. Returns `nil` if another thread is loading.
    func loadIfFree(_ digest: String) throws -> SQLiteRows.Stored?? {
      try connection.withLockIfAvailable { try $0.load(digest) }
    }

    private struct Connection: ~Copyable {
      private let handle: OpaquePointer
      private let statement: OpaquePointer

      init(_ name: String) throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (name.hasPrefix("file:") ? SQLITE_OPEN_URI : 0)
        var code = sqlite3_open_v2(name, &handle, flags, nil)
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, 10_000)
        var statement: OpaquePointer?
        if code == SQLITE_OK {
          let persistent = UInt32(SQLITE_PREPARE_PERSISTENT)
          code = sqlite3_prepare_v3(handle, SQLiteRows.loading, -1, persistent, &statement, nil)
        }
        guard code == SQLITE_OK, let handle, let statement else {
          let message = String(cString: sqlite3_errmsg(handle))
          sqlite3_close_v2(handle)
          throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
        self.handle = handle
        self.statement = statement
        // In KiB. With many records, only the upper pages of the trees are read again. The system
        // caches the rest.
        sqlite3_exec(handle, "PRAGMA cache_size = -512", nil, nil, nil)
      }

      deinit {
        sqlite3_finalize(statement)
        sqlite3_close_v2(handle)
      }

      func secretKey() throws -> RecordKey.SecretKey? {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v2(handle, SQLiteSchema.readingSecretKey, -1, &statement, nil)
        defer { sqlite3_finalize(statement) }
        guard code == SQLITE_OK, let statement else {
          throw DatabaseError(resultCode: ResultCode(rawValue: code), message: String(cString: sqlite3_errmsg(handle)))
        }
        return try SQLiteStatement(statement, handle).first { $0.data(0) }.flatMap(\.self).flatMap {
          RecordKey.SecretKey(bytes: $0)
        }
      }

      func load(_ digest: String) throws -> SQLiteRows.Stored? {
        try SQLiteStatement(statement, handle).first(.text(digest), body: SQLiteRows.Stored.init)
      }
    }
  }
#endif
