#if SQLite
  public import Foundation
  import GRDB

  /// Why an SQLite database cannot be used. What was stored before is as it was, but for ``setAside(path:as:reason:)``.
  @nonexhaustive public enum SQLitePersistenceError: Error, Sendable, Hashable {
    /// The text names no file: it is empty, begins with a colon, or holds a NUL.
    case invalidPath(String)
    /// One of the database's files or its directory cannot be made, locked, renamed or removed, or its permissions
    /// cannot be set; with the system's `errno`: `EWOULDBLOCK` where another process held `-lock` for ten seconds.
    case file(path: String, code: Int32)
    /// The database is in order, and another program's: none of its tables is this library's. It is left as it is.
    case foreign(path: String)
    /// The database could not be used any more: it has another name now, and the store has begun anew, empty. Each case
    /// is thrown once, by the next `load`.
    case setAside(path: String, as: String, reason: SQLiteDamage)
    /// The record alone is larger than the limit; both in bytes. Nothing was written.
    case tooLarge(size: Int, limit: Int)
    /// SQLite failed, with its extended result code and its words. The code's last byte is 5 (`SQLITE_BUSY`) where
    /// another process held the database for ten seconds.
    case sqlite(Operation, path: String, code: Int32, message: String)

    /// What was tried.
    @nonexhaustive public enum Operation: String, Sendable, Hashable, CaseIterable {
      case open, load, save, remove, list, verify, compact
    }
  }

  extension SQLitePersistenceError {
    /// What a caller gets to see of `error`: GRDB's errors hold statements and their arguments, which are URLs.
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
    public var description: String {
      switch self {
      case .invalidPath(let path):
        "'\(path)' names no file; give SQLitePersistence a path, or use MemoryPersistence"
      case .file(let path, let code):
        "cannot use \(path): \(String(cString: strerror(code))) (errno \(code)); \(Self.advice(errno: code))"
      case .foreign(let path):
        "\(path) is another program's database; give SQLitePersistence a path of its own"
      case .setAside(let path, let name, let reason):
        "\(path) was renamed to \(name), and begun anew: \(reason)"
      case .tooLarge(let size, let limit):
        "the record of \(size) bytes alone is larger than the limit of \(limit); raise SQLitePersistence's limit"
      case .sqlite(let operation, let path, let code, let message):
        "cannot \(operation.rawValue) in \(path): \(message) (SQLite \(code))\(advice.map { "; \($0)" } ?? "")"
      }
    }

    public var errorDescription: String? { description }

    private static func advice(errno code: Int32) -> String {
      switch code {
      case EWOULDBLOCK: "another process holds it, and is opening the database or stuck; try again, or end that process"
      case ENOSPC, EDQUOT: "free some space, or give SQLitePersistence another path"
      case EIO: "the disk fails; give SQLitePersistence another path"
      default: "make the file and its directory this user's own, or give SQLitePersistence another path"
      }
    }

    /// What to do about it.
    private var advice: String? {
      guard case .sqlite(_, _, let code, _) = self else { return nil }
      return switch ResultCode(rawValue: code).primaryResultCode {
      case .SQLITE_BUSY: "another process is in a transaction, or stuck in one; try again, or end that process"
      case .SQLITE_FULL: "free some space, or give SQLitePersistence another path"
      case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
        "make the file and its directory writable for this user, or give SQLitePersistence another path"
      case .SQLITE_NOTADB, .SQLITE_CORRUPT: "remove the file, or give SQLitePersistence another path"
      case .SQLITE_TOOBIG: "the record is larger than SQLite takes"
      default: nil
      }
    }
  }
#endif
