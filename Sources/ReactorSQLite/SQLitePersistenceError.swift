#if SQLite
  public import Foundation
  import GRDB

  /// An error of ``SQLitePersistence``, or of SQLite or the system in ``SQLiteOutboxStorage``.
  ///
  /// ```swift
  /// do {
  ///   let persistence = try SQLitePersistence(path: path)
  /// } catch .foreign(let path) {
  ///   print("\(path) belongs to another program")
  /// }
  /// ```
  ///
  /// Except for ``setAside(path:as:reason:)``, a failed load or save leaves the stored records
  /// unchanged; ``SQLitePersistence/Synchronization/full`` describes the one other exception. A
  /// failed ``SQLitePersistence/removeAll(in:)`` may have removed the records.
  @nonexhaustive public enum SQLitePersistenceError: Error, Sendable, Hashable {
    /// The path is empty, begins with a colon or contains a NUL.
    case invalidPath(String)
    /// A file of the database or its directory cannot be created, locked, renamed or removed, or
    /// its permissions cannot be set. The code is the system's `errno`: `EWOULDBLOCK` if another
    /// process held `-lock` for ten seconds.
    case file(path: String, code: Int32)
    /// The database is intact and belongs to another program: it has no table of this library. It
    /// is left unchanged.
    case foreign(path: String)
    /// The database became unusable. It was renamed to `as`, and the store started again empty. The
    /// next ``SQLitePersistence/load(_:)`` throws this error once.
    case setAside(path: String, as: String, reason: SQLiteDamage)
    /// The record is larger than the limit; both sizes are in bytes. Nothing was written.
    case tooLarge(size: Int, limit: Int)
    /// SQLite failed, with its extended result code and its message. The last byte of the code is 5
    /// (`SQLITE_BUSY`) if another process held the database for ten seconds.
    case sqlite(Operation, path: String, code: Int32, message: String)
    /// The program has suspended the store (``SQLitePersistence/suspend()``), and not resumed it.
    /// Nothing was read or written.
    case suspended(path: String)

    /// The operation that failed.
    @nonexhaustive public enum Operation: String, Sendable, Hashable, CaseIterable {
      /// An operation of ``SQLitePersistence``; `list` is ``SQLitePersistence/entries(in:url:)``.
      case open, load, save, remove, list, verify, compact
    }
  }

  extension SQLitePersistenceError {
    /// Returns the error for a caller. GRDB's errors contain statements with their arguments, which
    /// are URLs.
    static func outward(_ operation: Operation, _ path: String, _ error: any Error) -> any Error {
      switch error {
      case let error as DatabaseError:
        Self.sqlite(
          operation, path: path, code: error.extendedResultCode.rawValue, message: error.message ?? "no message")
      case let damage as SQLiteDamage:
        Self.sqlite(operation, path: path, code: ResultCode.SQLITE_CORRUPT.rawValue, message: damage.description)
      default: error
      }
    }
  }

  extension SQLitePersistenceError: CustomStringConvertible, LocalizedError {
    /// A sentence with the path, the failure and, where one is known, a remedy.
    public var description: String {
      switch self {
      case .invalidPath(let path):
        "'\(path)' is not a file's path; give the store a path, or use one in memory"
      case .file(let path, let code):
        "cannot use \(path): \(String(cString: strerror(code))) (errno \(code)); \(Self.advice(errno: code))"
      case .foreign(let path):
        "\(path) is another program's database; give the store a path of its own"
      case .setAside(let path, let name, let reason):
        "\(path) was damaged and renamed to \(name), and a new database was created: \(reason)"
      case .tooLarge(let size, let limit):
        "the record has \(size) bytes, more than the limit of \(limit); raise the store's limit"
      case .sqlite(let operation, let path, let code, let message):
        "cannot \(operation.rawValue) in \(path): \(message) (SQLite \(code))\(advice.map { "; \($0)" } ?? "")"
      case .suspended(let path):
        "the store at \(path) is suspended; call resume() before using it"
      }
    }

    public var errorDescription: String? { description }

    private static func advice(errno code: Int32) -> String {
      switch code {
      case EWOULDBLOCK: "another process is opening the database; try again, or end that process if it hangs"
      case ENOSPC, EDQUOT: "free some space, or give the store another path"
      case EIO: "the disk reported an error; give the store a path on another disk"
      default: "make this user the owner of the file and its directory, or give the store another path"
      }
    }

    /// The remedy for an error of SQLite; `nil` if no remedy is known.
    private var advice: String? {
      guard case .sqlite(_, _, let code, _) = self else { return nil }
      return switch ResultCode(rawValue: code).primaryResultCode {
      case .SQLITE_BUSY: "another process holds a transaction open; try again, or end that process if it hangs"
      case .SQLITE_FULL: "free some space, or give the store another path"
      case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
        "make the file and its directory writable for this user, or give the store another path"
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: "remove the file, or give the store another path"
      case .SQLITE_TOOBIG: "the record is larger than SQLite's limit of about 1 GB; do not cache it"
      default: nil
      }
    }
  }
#endif
