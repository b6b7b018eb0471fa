#if SQLite
  import GRDB

  /// The reason why a database was set aside.
  @nonexhaustive public enum SQLiteDamage: Error, Sendable, Hashable {
    /// SQLite found a part that is invalid or missing. The text is SQLite's message.
    case corrupt(String)
    /// The file is not an SQLite database.
    case notADatabase
    /// A newer release wrote the database.
    case newerSchema
    /// A table of this library is missing or was changed.
    case foreignSchema
  }

  extension SQLiteDamage: CustomStringConvertible {
    /// A clause that describes the damage.
    public var description: String {
      switch self {
      case .corrupt(let message): "it is corrupt (\(message))"
      case .notADatabase: "it is not an SQLite database"
      case .newerSchema: "a newer release wrote it"
      case .foreignSchema: "its tables were not created by this library"
      }
    }
  }

  extension SQLiteDamage {
    /// Creates the damage that an error stands for, or returns `nil` if the error does not mean
    /// damage.
    init?(_ error: any Error) {
      if let damage = error as? SQLiteDamage {
        self = damage
        return
      }
      guard let error = error as? DatabaseError else { return nil }
      switch (error.resultCode, error.extendedResultCode) {
      case (.SQLITE_CORRUPT, _), (_, .SQLITE_IOERR_SHORT_READ): self = .corrupt(error.message ?? "no message")
      case (.SQLITE_NOTADB, _): self = .notADatabase
      // Somebody's trigger refuses the change (`RAISE`). This library has no such trigger.
      case (_, .SQLITE_CONSTRAINT_TRIGGER): return nil
      // No statement of this library violates a constraint of a sound table.
      case (.SQLITE_CONSTRAINT, _): self = .corrupt(error.message ?? "no message")
      // The header names a format that SQLite does not have.
      case (.SQLITE_ERROR, _) where error.message == "unsupported file format":
        self = .corrupt("unsupported file format")
      default: return nil
      }
    }
  }
#endif
