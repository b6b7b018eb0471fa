#if SQLite
  import Foundation
  import GRDB
  import Synchronization

  /// When records were used last, kept in memory until there is something to write anyway.
  final class SQLiteAccessTimes: Sendable {
    /// By the key's digest, in seconds since 2001.
    private let times = Mutex<[String: Double]>([:])
    /// In seconds: how often a record's use is noted at most.
    private static let interval = 60.0
    /// How many are collected before they are written on their own.
    private static let batch = 64
    /// How many are kept where they cannot be written.
    private static let limit = 4_096

    /// Notes that a record was used now.
    ///
    /// - Parameter known: what the database says.
    /// - Returns: whether it is time to write.
    func note(_ digest: String, known: Double?, now: Date) -> Bool {
      let now = now.timeIntervalSinceReferenceDate
      // A time ahead is from a clock that was set back since.
      if let known, now - known < Self.interval, now >= known { return false }
      return times.withLock { times in
        guard times.count < Self.limit else { return true }
        times[digest] = now
        return times.count >= Self.batch
      }
    }

    func write(_ db: Database) throws {
      let times = times.withLock { times in
        defer { times = [:] }
        return times
      }
      guard !times.isEmpty else { return }
      let statement = try SQLiteStatement(db, "UPDATE reactor_record SET used_at = ? WHERE digest = ?")
      for (digest, time) in times { try statement.run(.real(time), .text(digest)) }
    }
  }
#endif
