#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching

  /// Reads everything in a database, and changes nothing.
  struct SQLiteVerification {
    /// The place of a defect that is not a record's.
    let path: String

    /// Returns the defects that SQLite's own check reports, and the records that cannot be read.
    func defects(_ db: Database) throws -> [HTTPCaching.Record.Defect] { try ofDatabase(db) + ofRecords(db) }

    /// Returns a defect of the database as a whole.
    func defect(_ reason: some CustomStringConvertible) -> HTTPCaching.Record.Defect {
      HTTPCaching.Record.Defect(place: path, reason: reason.description)
    }

    private func ofDatabase(_ db: Database) throws -> [HTTPCaching.Record.Defect] {
      try reading(db, "PRAGMA integrity_check") { row in
        let line = String.fromDatabaseValue(row[0]) ?? "no text"
        return line == "ok" ? nil : defect(line)
      }
    }

    private func ofRecords(_ db: Database) throws -> [HTTPCaching.Record.Defect] {
      try reading(db, "SELECT digest, size, head, body FROM reactor_record") { row in
        let digest = String.fromDatabaseValue(row[0]) ?? ""
        do throws(HTTPCaching.Record.Failure) {
          try check(row, digest)
          return nil
        } catch {
          return HTTPCaching.Record.Defect(place: digest, reason: "\(error)")
        }
      }
    }

    private func check(_ row: Row, _ digest: String) throws(HTTPCaching.Record.Failure) {
      let head = Data.fromDatabaseValue(row[2]).map(Array.init)
      let record = try SQLiteRows.Stored(head: head, body: Data.fromDatabaseValue(row[3])).record()
      guard RecordKey(identity: record.head.identity)?.digest == digest else {
        throw .corrupt("its key does not match its digest")
      }
      guard Int.fromDatabaseValue(row[1]) == (head?.count ?? 0) + record.body.count else {
        throw .corrupt("its size differs from the one in the table")
      }
    }

    /// Runs a query. Data that SQLite cannot read stops the verification, and is a defect too.
    private func reading(_ db: Database, _ sql: String, _ body: (Row) -> HTTPCaching.Record.Defect?) throws
      -> [HTTPCaching.Record.Defect]
    {
      var defects: [HTTPCaching.Record.Defect] = []
      do {
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
          try Task.checkCancellation()
          if let defect = body(row) { defects.append(defect) }
        }
      } catch {
        guard let damage = SQLiteDamage(error) else { throw error }
        defects.append(defect(damage))
      }
      return defects
    }
  }
#endif
