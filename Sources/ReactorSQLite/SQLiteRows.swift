#if SQLite
  import Foundation
  import GRDB
  import ReactorCore

  /// The statements on the table of records. Reading never trusts what is in a column.
  enum SQLiteRows {
    /// What is stored under a key's digest; a column is `nil` where somebody else has put something else there.
    struct Stored {
      var head: Data?
      var body: Data?
      var usedAt: Double?
    }

    static func load(_ digest: String, _ db: Database) throws -> Stored? {
      let statement = try db.cachedStatement(sql: "SELECT used_at, head, body FROM reactor_record WHERE digest = ?")
      let rows = try Row.fetchCursor(statement, arguments: [digest])
      return try rows.next().map { row in
        Stored(
          head: Data.fromDatabaseValue(row[1]), body: Data.fromDatabaseValue(row[2]),
          usedAt: Double.fromDatabaseValue(row[0]))
      }
    }

    static func save(
      _ record: ReactorCore.Record, head: Data, for key: RecordKey, usedAt: Date, _ db: Database
    ) throws {
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO reactor_record (digest, scope, url, fetched_at, fresh_until, used_at, size, head, body)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (digest) DO UPDATE SET
            scope = excluded.scope, url = excluded.url, fetched_at = excluded.fetched_at,
            fresh_until = excluded.fresh_until, used_at = excluded.used_at, size = excluded.size, head = excluded.head,
            body = excluded.body
          """)
      try statement.execute(arguments: [
        key.digest, key.scope.blob, key.url, record.head.receivedAt.timeIntervalSinceReferenceDate,
        record.head.freshUntil.timeIntervalSinceReferenceDate, usedAt.timeIntervalSinceReferenceDate,
        head.count + record.body.count, head, record.body,
      ])
    }

    static func remove(_ digest: String, _ db: Database) throws {
      try db.cachedStatement(sql: "DELETE FROM reactor_record WHERE digest = ?").execute(arguments: [digest])
    }

    static func removeAll(in scope: Scope?, _ db: Database) throws {
      guard let scope else { return try db.execute(sql: "DELETE FROM reactor_record") }
      try db.execute(sql: "DELETE FROM reactor_record WHERE scope = ?", arguments: [scope.blob])
    }

    /// - Throws: `DatabaseError`, `CancellationError`.
    static func entries(in scope: Scope?, url: String?, _ db: Database) throws -> [RecordEntry] {
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
      guard let digest = String.fromDatabaseValue(row[0]), let size = Int.fromDatabaseValue(row[2]),
        let bytes = Data.fromDatabaseValue(row[3]).map(Array.init),
        let layout = try? RecordCodec.layout(of: bytes, count: size),
        let head = try? RecordCodec.decodeHead(bytes, layout),
        let key = RecordKey(identity: head.identity), key.digest == digest
      else { return nil }
      let usedAt = Double.fromDatabaseValue(row[1]).map(Date.init(timeIntervalSinceReferenceDate:))
      return RecordEntry(key: key, size: size, fetchedAt: head.receivedAt, lastUsedAt: usedAt)
    }
  }

  extension SQLiteRows.Stored {
    /// - Throws: `RecordError`.
    func record() throws(RecordError) -> ReactorCore.Record {
      guard let head, let body else { throw .corrupt("a column is no blob") }
      let bytes = Array(head)
      let layout = try RecordCodec.layout(of: bytes, count: head.count + body.count)
      let record = ReactorCore.Record(head: try RecordCodec.decodeHead(bytes, layout), body: body)
      try RecordCodec.check(body: body, layout)
      return record
    }
  }

  // GRDB has one too.
  typealias RecordError = ReactorCore.RecordError

  extension Scope {
    /// Text in SQLite ends at a NUL, which a name may hold.
    fileprivate var blob: Data { Data(name.utf8) }
  }
#endif
