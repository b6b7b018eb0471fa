#if SQLite
  import Foundation
  import GRDB

  /// Limits the bytes and the number of the records. It removes a few rows at a time, so that other
  /// writers can run in between.
  ///
  /// Triggers maintain the sums in the transactions that change them. So nothing is counted, and
  /// all processes see the same sums. Once the sums exceed the limit, each batch of writes evicts
  /// more than it adds, down to seven eighths.
  struct SQLiteEviction {
    let bytes: Int
    let count: Int
    private var isRunning = false
    /// The time of last use up to which the records were searched for long-stale ones.
    private var lookedAtUntil = -Double.infinity
    /// The greatest number of records that one transaction removes.
    static let step = 64
    /// The seconds for which a record must be both stale and unused to be evicted before the rest.
    private static let long = 7 * 86_400.0
    /// The seconds by which a time of use may be ahead. A later time is from a clock that was set
    /// back since, and says nothing about use.
    private static let ahead = 60.0

    struct Usage: Equatable {
      var bytes: Int
      var count: Int
    }

    private struct Victim {
      var row: Int
      var size: Int
      var usedAt: Double?
    }

    init(bytes: Int, count: Int) {
      self.bytes = max(0, bytes)
      self.count = max(1, count)
    }

    /// Returns whether to evict another step. While the limit is exceeded, it always is.
    ///
    /// - Parameters:
    ///   - usage: The current sums.
    ///   - steps: The number of steps since the batch.
    ///   - added: The greatest number of records that the batch added.
    mutating func isDue(_ usage: Usage, after steps: Int, added: Int) -> Bool {
      if isOver(usage, bytes, count), usage.count > 1 {
        isRunning = true
        return true
      }
      guard isRunning, isOver(usage, bytes - bytes / 8, count - count / 8), usage.count > 1 else {
        isRunning = false
        lookedAtUntil = -.infinity
        return false
      }
      return steps < 1 + added / (Self.step / 4)
    }

    private func isOver(_ usage: Usage, _ bytes: Int, _ count: Int) -> Bool {
      usage.bytes > bytes || usage.count > count
    }

    /// Returns the sums of all records. Counts the records if the sums are missing or invalid.
    static func usage(_ db: Database) throws -> Usage {
      guard let usage = try stored(db), usage.bytes >= 0, usage.count >= 0 else { return try recount(db) }
      return usage
    }

    private static func recount(_ db: Database) throws -> Usage {
      try db.execute(
        sql: """
          INSERT OR REPLACE INTO reactor_usage (id, bytes, count)
            SELECT 1, ifnull(sum(CAST(size AS INTEGER)), 0), count(*) FROM reactor_record
          """)
      return try stored(db) ?? Usage(bytes: 0, count: 0)
    }

    private static func stored(_ db: Database) throws -> Usage? {
      try SQLiteStatement(db, "SELECT bytes, count FROM reactor_usage").first { row -> Usage? in
        guard let bytes = row.integer(0), let count = row.integer(1) else { return nil }
        return Usage(bytes: bytes, count: count)
      } ?? nil
    }

    /// Removes at most ``step`` records, and never the last one.
    mutating func evict(_ db: Database, now: Date) throws -> Usage {
      var usage = try Self.usage(db)
      let victims = try victims(db, now.timeIntervalSinceReferenceDate)
      // Nothing to remove although the limit is exceeded: the sums are wrong.
      guard !victims.isEmpty else { return try Self.recount(db) }
      let delete = try SQLiteStatement(db, "DELETE FROM reactor_record WHERE rowid = ?")
      for victim in victims where usage.count > 1 && isOver(usage, bytes - bytes / 8, count - count / 8) {
        try delete.run(.integer(victim.row))
        usage.bytes -= victim.size
        usage.count -= 1
      }
      return try Self.usage(db)
    }
  }

  extension SQLiteEviction {
    /// Returns the next records to evict, in this order.
    private mutating func victims(_ db: Database, _ now: Double) throws -> [Victim] {
      var victims = try Self.victims(
        db, "used_at > ? ORDER BY used_at DESC LIMIT \(Self.step)", [now + Self.ahead])
      let limit = now - Self.long
      if victims.count < Self.step, lookedAtUntil < limit {
        let stale = try Self.victims(
          db, "used_at >= ? AND used_at < ? AND fresh_until < ? ORDER BY used_at LIMIT \(Self.step)",
          [lookedAtUntil, limit, limit])
        lookedAtUntil = stale.count == Self.step ? stale.last?.usedAt ?? limit : limit
        victims += stale
      }
      if victims.count < Self.step {
        victims += try Self.victims(db, "TRUE ORDER BY used_at LIMIT \(Self.step)", [])
      }
      var seen: Set<Int> = []
      return victims.filter { seen.insert($0.row).inserted }.prefix(Self.step).map { $0 }
    }

    private static func victims(
      _ db: Database, _ condition: String, _ arguments: StatementArguments
    ) throws -> [Victim] {
      let statement = try db.cachedStatement(sql: "SELECT rowid, size, used_at FROM reactor_record WHERE \(condition)")
      let rows = try Row.fetchCursor(statement, arguments: arguments)
      var victims: [Victim] = []
      while let row = try rows.next() {
        guard let id = Int.fromDatabaseValue(row[0]) else { continue }
        victims.append(
          Victim(row: id, size: Int.fromDatabaseValue(row[1]) ?? 0, usedAt: Double.fromDatabaseValue(row[2])))
      }
      return victims
    }
  }
#endif
