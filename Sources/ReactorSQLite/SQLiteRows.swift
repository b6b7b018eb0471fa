#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching

  /// The statements on the table of records. Reading does not trust the type of a column.
  enum SQLiteRows {
    /// The row of a record. A column is `nil` if it holds a value of another type.
    struct Stored {
      var head: [UInt8]?
      var body: Data?
      var usedAt: Double?
    }

    /// The values of a row to write, prepared before the write begins.
    struct Change: Sendable {
      var key: RecordKey
      var head: [UInt8]
      var body: Data
      var fetchedAt: Double
      var freshUntil: Double
      var usedAt: Double

      var size: Int { head.count + body.count }
    }

    /// The query of a `Stored`.
    static let loading = "SELECT used_at, head, body FROM reactor_record WHERE digest = ?"

    static func save(_ change: Change, _ db: Database) throws {
      let statement = try SQLiteStatement(
        db,
        """
        INSERT INTO reactor_record (digest, scope, url, fetched_at, fresh_until, used_at, size, head, body)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (digest) DO UPDATE SET
          scope = excluded.scope, url = excluded.url, fetched_at = excluded.fetched_at,
          fresh_until = excluded.fresh_until, used_at = excluded.used_at, size = excluded.size, head = excluded.head,
          body = excluded.body
        """)
      try statement.run(
        .text(change.key.digest), .bytes(Array(change.key.scope.name.utf8)), .text(change.key.url),
        .real(change.fetchedAt), .real(change.freshUntil), .real(change.usedAt), .integer(change.size),
        .bytes(change.head), .blob(change.body))
    }

    static func remove(_ digest: String, _ db: Database) throws {
      try SQLiteStatement(db, "DELETE FROM reactor_record WHERE digest = ?").run(.text(digest))
    }

    static func removeAll(in scope: Scope?, _ db: Database) throws {
      guard let scope else { return try db.execute(sql: "DELETE FROM reactor_record") }
      try db.execute(sql: "DELETE FROM reactor_record WHERE scope = ?", arguments: [scope.blob])
    }

    /// Returns the records with readable heads. A filter that is `nil` matches everything.
    ///
    /// - Throws: `DatabaseError`, `CancellationError`.
    static func entries(in scope: Scope?, url: String?, _ db: Database) throws -> [HTTPCaching.Record.Entry] {
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
        db,
        sql: "SELECT digest, used_at, size, head FROM reactor_record WHERE \(conditions.joined(separator: " AND "))",
        arguments: arguments)
      var entries: [HTTPCaching.Record.Entry] = []
      while let row = try rows.next() {
        try Task.checkCancellation()
        // In SQLite, text ends at a NUL, which a URL may contain. So the key decides.
        guard let entry = entry(row), url == nil || url == entry.key.url else { continue }
        entries.append(entry)
      }
      return entries
    }

    private static func entry(_ row: Row) -> HTTPCaching.Record.Entry? {
      guard let digest = String.fromDatabaseValue(row[0]), let size = Int.fromDatabaseValue(row[2]),
        let bytes = Data.fromDatabaseValue(row[3]), let head = try? head(Array(bytes), size),
        let key = RecordKey(identity: head.identity), key.digest == digest
      else { return nil }
      var entry = HTTPCaching.Record.Entry(
        key: key, size: size, fetchedAt: head.receivedAt, freshUntil: head.freshUntil, groups: head.groups)
      if let used = Double.fromDatabaseValue(row[1]) { entry.lastUsedAt = Date(timeIntervalSinceReferenceDate: used) }
      return entry
    }

    private static func head(_ bytes: [UInt8], _ size: Int) throws(HTTPCaching.Record.Failure)
      -> HTTPCaching.Record.Head
    {
      try RecordCodec.decodeHead(bytes, RecordCodec.layout(of: bytes, count: size))
    }
  }

  extension SQLiteRows.Stored {
    init(_ row: SQLiteRow) { self.init(head: row.bytes(1), body: row.data(2), usedAt: row.real(0)) }

    func record() throws(HTTPCaching.Record.Failure) -> HTTPCaching.Record {
      guard let head, let body else { throw .corrupt("a column of its row does not contain bytes") }
      let layout = try RecordCodec.layout(of: head, count: head.count + body.count)
      let record = HTTPCaching.Record(head: try RecordCodec.decodeHead(head, layout), body: body)
      try RecordCodec.check(body: body, layout)
      return record
    }
  }

  extension SQLiteRows.Change {
    init(_ record: HTTPCaching.Record, for key: RecordKey, at now: Date) {
      self.key = key
      head = RecordCodec.encodeHead(of: record)
      body = record.body
      fetchedAt = record.head.receivedAt.timeIntervalSinceReferenceDate
      // A record without a stated lifetime is stale from the start.
      freshUntil = (record.head.freshUntil ?? record.head.receivedAt).timeIntervalSinceReferenceDate
      usedAt = now.timeIntervalSinceReferenceDate
    }
  }

  extension Scope {
    /// The bytes of the name. In SQLite, text ends at a NUL, which a name may contain.
    fileprivate var blob: Data { Data(name.utf8) }
  }
#endif
