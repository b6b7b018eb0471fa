#if SQLite
  import GRDB

  /// Why a database was set aside.
  @nonexhaustive public enum SQLiteDamage: Error, Sendable, Hashable {
    /// SQLite found a part of it that cannot be as it is, or missing; with SQLite's words.
    case corrupt(String)
    /// The file is no SQLite database.
    case notADatabase
    /// A newer release wrote it.
    case newerSchema
    /// A table of this library is missing or is another's.
    case foreignSchema
  }

  extension SQLiteDamage: CustomStringConvertible {
    public var description: String {
      switch self {
      case .corrupt(let message): "it is corrupt (\(message))"
      case .notADatabase: "it is no SQLite database"
      case .newerSchema: "a newer release wrote it"
      case .foreignSchema: "its tables are not those of this library"
      }
    }
  }

  extension SQLiteDamage {
    /// `nil` where the error does not mean that the database is damaged.
    init?(_ error: any Error) {
      if let damage = error as? SQLiteDamage {
        self = damage
        return
      }
      guard let error = error as? DatabaseError else { return nil }
      switch (error.resultCode, error.extendedResultCode) {
      case (.SQLITE_CORRUPT, _), (_, .SQLITE_IOERR_SHORT_READ): self = .corrupt(error.message ?? "no message")
      case (.SQLITE_NOTADB, _): self = .notADatabase
      // A trigger that somebody added says no (`RAISE`); none of this library's does.
      case (_, .SQLITE_CONSTRAINT_TRIGGER): return nil
      // No statement of this library breaks a constraint of a sound table.
      case (.SQLITE_CONSTRAINT, _): self = .corrupt(error.message ?? "no message")
      // Its header names a format that SQLite does not have.
      case (.SQLITE_ERROR, _) where error.message == "unsupported file format":
        self = .corrupt("unsupported file format")
      default: return nil
      }
    }
  }
#endif
