#if SQLite
  public import Foundation
  import GRDB

  /// Why an SQLite database cannot be used. What was stored before is as it was.
  @nonexhaustive public enum SQLitePersistenceError: Error, Sendable, Hashable {
    /// The text names no file: it is empty, begins with a colon, or holds a NUL.
    case invalidPath(String)
    /// The database's file or its directory cannot be made; with the system's `errno`.
    case file(path: String, code: Int32)
    /// The database has been through migrations that this release does not know: a newer release, or another
    /// program, wrote it.
    case newerSchema(path: String)
    /// SQLite failed, with its extended result code and its words.
    case sqlite(Operation, path: String, code: Int32, message: String)

    /// What was tried.
    @nonexhaustive public enum Operation: String, Sendable, Hashable, CaseIterable {
      case open, load, save, remove, list
    }
  }

  extension SQLitePersistenceError {
    init(_ operation: Operation, _ path: String, _ error: DatabaseError) {
      // Without the statement and its arguments, which hold URLs.
      self = .sqlite(
        operation, path: path, code: error.extendedResultCode.rawValue, message: error.message ?? "no message")
    }
  }

  extension SQLitePersistenceError: CustomStringConvertible, LocalizedError {
    public var description: String {
      switch self {
      case .invalidPath(let path):
        "'\(path)' names no file; give SQLitePersistence a path, or use MemoryPersistence"
      case .file(let path, let code):
        "cannot create \(path): \(String(cString: strerror(code))) (errno \(code)); give SQLitePersistence another path"
      case .newerSchema(let path):
        "\(path) was written by a newer release or by another program; give SQLitePersistence a path of its own"
      case .sqlite(let operation, let path, let code, let message):
        "cannot \(operation.rawValue) in \(path): \(message) (SQLite \(code))\(advice.map { "; \($0)" } ?? "")"
      }
    }

    public var errorDescription: String? { description }

    /// What to do about it.
    private var advice: String? {
      guard case .sqlite(_, _, let code, _) = self else { return nil }
      return switch ResultCode(rawValue: code).primaryResultCode {
      case .SQLITE_BUSY: "another process holds the database; try again"
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
