#if SQLite
  public import Foundation
  import GRDB
  public import ReactorCore

  /// Records in one table of an SQLite database, in WAL mode; several processes may share the file.
  ///
  /// ```swift
  /// let persistence = try SQLitePersistence(path: "/var/cache/news/records.sqlite")
  /// ```
  ///
  /// A save is one transaction: it is whole or not there, whatever ends the process. A power cut may take the latest ones
  /// (`synchronous` is `NORMAL`), and corrupts nothing. A record that cannot be read throws ``ReactorCore/RecordError``
  /// from `load`, harms no other, and stays until something is saved under its key. Nothing is ever evicted.
  ///
  /// What SQLite refuses throws ``SQLitePersistenceError``. Cancellation stops `entries` alone: the others are short.
  /// No method works on the caller's executor.
  public final class SQLitePersistence: Persistence {
    private let database: SQLiteDatabase

    /// Opens the database, or makes it, with the directories above it, for its owner alone.
    ///
    /// It blocks while it does so: milliseconds, and up to ten seconds where another process holds the database.
    ///
    /// - Parameter path: the file. Beside it, SQLite keeps two of its own, with `-wal` and `-shm` after the name.
    public init(path: String) throws(SQLitePersistenceError) { database = try SQLiteDatabase(path: path) }

    /// - Throws: ``ReactorCore/RecordError``, ``SQLitePersistenceError``.
    @concurrent public func load(_ key: RecordKey) async throws -> ReactorCore.Record? {
      let columns = try database.read(.load) { try Self.columns(of: key, $0) }
      guard let columns else { return nil }
      guard let head = columns.head, let body = columns.body else {
        throw ReactorCore.RecordError.corrupt("a column is no blob")
      }
      let bytes = Array(head)
      let layout = try RecordCodec.layout(of: bytes, count: head.count + body.count)
      let record = ReactorCore.Record(head: try RecordCodec.decodeHead(bytes, layout), body: body)
      try RecordCodec.check(body: body, layout)
      return record.belongs(to: key) ? record : nil
    }

    /// - Throws: ``ReactorCore/RecordError/wrongKey``, ``SQLitePersistenceError``.
    @concurrent public func save(_ record: ReactorCore.Record, for key: RecordKey) async throws {
      guard record.belongs(to: key) else { throw ReactorCore.RecordError.wrongKey }
      let head = Data(RecordCodec.encodeHead(of: record))
      try database.write(.save) { db in
        try db.cachedStatement(
          sql: """
            INSERT INTO reactor_record (digest, scope, url, fetched_at, size, head, body) VALUES (?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (digest) DO UPDATE SET
              scope = excluded.scope, url = excluded.url, fetched_at = excluded.fetched_at, size = excluded.size,
              head = excluded.head, body = excluded.body
            """
        ).execute(arguments: [
          key.digest, key.scope.blob, key.url, record.head.receivedAt.timeIntervalSinceReferenceDate,
          head.count + record.body.count, head, record.body,
        ])
      }
    }

    @concurrent public func remove(_ key: RecordKey) async throws {
      try database.write(.remove) {
        try $0.cachedStatement(sql: "DELETE FROM reactor_record WHERE digest = ?").execute(arguments: [key.digest])
      }
    }

    @concurrent public func removeAll(in scope: Scope?) async throws {
      try database.write(.remove) { db in
        guard let scope else { return try db.execute(sql: "DELETE FROM reactor_record") }
        try db.execute(sql: "DELETE FROM reactor_record WHERE scope = ?", arguments: [scope.blob])
      }
    }

    /// Reads heads alone. A record whose head cannot be read is left out.
    ///
    /// - Throws: ``SQLitePersistenceError``, `CancellationError`.
    @concurrent public func entries(in scope: Scope?, url: URL?) async throws -> [RecordEntry] {
      try database.read(.list) { try Self.entries(in: scope, url: url?.absoluteString, $0) }
    }
  }

  extension SQLitePersistence {
    /// What is stored under the key's digest; a column is `nil` where somebody else has put something else there.
    private static func columns(of key: RecordKey, _ db: Database) throws -> (head: Data?, body: Data?)? {
      let statement = try db.cachedStatement(sql: "SELECT head, body FROM reactor_record WHERE digest = ?")
      return try Row.fetchOne(statement, arguments: [key.digest]).map { row in
        (Data.fromDatabaseValue(row[0]), Data.fromDatabaseValue(row[1]))
      }
    }

    private static func entries(in scope: Scope?, url: String?, _ db: Database) throws -> [RecordEntry] {
      var conditions = ["TRUE"]
      var arguments: StatementArguments = []
      if let scope {
        conditions.append("scope = ?")
        arguments += [scope.blob]
      }
      if let url {
        conditions.append("url = ?")
        arguments += [url]
      }
      let rows = try Row.fetchCursor(
        db, sql: "SELECT digest, size, head FROM reactor_record WHERE \(conditions.joined(separator: " AND "))",
        arguments: arguments)
      var entries: [RecordEntry] = []
      while let row = try rows.next() {
        try Task.checkCancellation()
        // Text in SQLite ends at a NUL, which a key's URL may hold: the key decides.
        guard let entry = entry(row), url == nil || url == entry.key.url else { continue }
        entries.append(entry)
      }
      return entries
    }

    private static func entry(_ row: Row) -> RecordEntry? {
      guard let digest = String.fromDatabaseValue(row[0]), let size = Int.fromDatabaseValue(row[1]),
        let bytes = Data.fromDatabaseValue(row[2]).map(Array.init),
        let layout = try? RecordCodec.layout(of: bytes, count: size),
        let head = try? RecordCodec.decodeHead(bytes, layout),
        let key = RecordKey(identity: head.identity), key.digest == digest
      else { return nil }
      return RecordEntry(key: key, size: size, fetchedAt: head.receivedAt)
    }
  }

  extension Scope {
    /// Text in SQLite ends at a NUL, which a name may hold.
    fileprivate var blob: Data { Data(name.utf8) }
  }
#else
  /// Records in an SQLite database. It is there with the trait `SQLite` alone.
  @available(
    *, unavailable,
    message: "add traits: [\"SQLite\"] to the package dependency on Reactor, so that GRDB is resolved and this is built"
  )
  public final class SQLitePersistence {
    public init(path: String) throws {}
  }
#endif
