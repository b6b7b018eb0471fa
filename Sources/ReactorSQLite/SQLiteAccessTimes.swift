#if SQLite
  import Foundation
  import GRDB
  import Synchronization

  /// The times at which records were last used. They stay in memory until something else is
  /// written.
  final class SQLiteAccessTimes: Sendable {
    /// The times in seconds since 2001, by the digest of the key.
    private let times = Mutex<[String: Double]>([:])
    /// The least number of seconds between two notes of a record's use.
    private static let interval = 60.0
    /// The number of access times that are worth a separate write.
    private static let batch = 64
    /// The greatest number of times that are kept if they cannot be written.
    private static let limit = 4_096

    /// Records that a record was used now.
    ///
    /// - Parameters:
    ///   - digest: The digest of the key.
    ///   - known: The time in the database, in seconds since 2001.
    ///   - now: The current time.
    /// - Returns: `true` if the times should be written now.
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

    /// Writes the times, and discards them from memory even if that fails.
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
