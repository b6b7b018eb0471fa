#if SQLite
  import Foundation
  import GRDB
  public import ReactorCore

  /// What ``SQLitePersistence/verify()`` found.
  @nonexhaustive public enum SQLiteDefect: Sendable, Hashable {
    /// The database's own order is broken; with SQLite's words.
    case database(String)
    /// A record cannot be read. Its URL is what the table says.
    case record(url: String, digest: String, ReactorCore.RecordError)
  }

  extension SQLiteDefect: CustomStringConvertible {
    public var description: String {
      switch self {
      case .database(let message): message
      case .record(let url, let digest, let error): "\(url) (\(digest)): \(error)"
      }
    }
  }

  extension SQLiteDefect {
    static func ofDatabase(_ db: Database) throws -> [SQLiteDefect] {
      try reading(db, "PRAGMA integrity_check") { row in
        let line = String.fromDatabaseValue(row[0]) ?? "no text"
        return line == "ok" ? nil : .database(line)
      }
    }

    static func ofRecords(_ db: Database) throws -> [SQLiteDefect] {
      try reading(db, "SELECT digest, url, size, head, body FROM reactor_record") { row in
        let digest = String.fromDatabaseValue(row[0]) ?? ""
        do throws(RecordError) {
          try check(row, digest)
          return nil
        } catch {
          return .record(url: String.fromDatabaseValue(row[1]) ?? "", digest: digest, error)
        }
      }
    }

    private static func check(_ row: Row, _ digest: String) throws(RecordError) {
      let head = Data.fromDatabaseValue(row[3]).map(Array.init)
      let record = try SQLiteRows.Stored(head: head, body: Data.fromDatabaseValue(row[4])).record()
      guard RecordKey(identity: record.head.identity)?.digest == digest else {
        throw .corrupt("it is under another key's digest")
      }
      guard Int.fromDatabaseValue(row[2]) == (head?.count ?? 0) + record.body.count else {
        throw .corrupt("the table says another size")
      }
    }

    /// Ends at what SQLite cannot read, which is a defect too.
    private static func reading(
      _ db: Database, _ sql: String, _ body: (Row) -> SQLiteDefect?
    ) throws -> [SQLiteDefect] {
      var defects: [SQLiteDefect] = []
      do {
        let rows = try Row.fetchCursor(db, sql: sql)
        while let row = try rows.next() {
          try Task.checkCancellation()
          if let defect = body(row) { defects.append(defect) }
        }
      } catch {
        guard let damage = SQLiteDamage(error) else { throw error }
        defects.append(.database(damage.description))
      }
      return defects
    }
  }
#endif
