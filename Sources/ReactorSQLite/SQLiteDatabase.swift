#if SQLite
  import Foundation
  import GRDB

  /// The open database: one connection that writes, several that read. All calls are synchronous: a read costs a few
  /// microseconds so, and ten times that across GRDB's executors.
  struct SQLiteDatabase {
    private let pool: DatabasePool
    private let path: String

    init(path: String) throws(SQLitePersistenceError) {
      guard !path.isEmpty, !path.hasPrefix(":"), !path.utf8.contains(0) else { throw .invalidPath(path) }
      // Readers are opened later, when the current directory may be another.
      let absolute = URL(filePath: path, directoryHint: .notDirectory).absoluteURL.path(percentEncoded: false)
      try Self.makeFile(absolute)
      pool = try Self.open(absolute)
      self.path = absolute
    }

    /// Runs `body` on a reading connection. One statement sees one state of the database.
    func read<Value>(
      _ operation: SQLitePersistenceError.Operation, _ body: (Database) throws -> Value
    ) throws -> Value {
      do {
        return try pool.unsafeRead(body)
      } catch let error as DatabaseError {
        throw SQLitePersistenceError(operation, path, error)
      }
    }

    /// Runs `body` in a transaction, after the other writers; it is committed when this returns.
    func write(_ operation: SQLitePersistenceError.Operation, _ body: (Database) throws -> Void) throws {
      do {
        try pool.write(body)
      } catch let error as DatabaseError {
        throw SQLitePersistenceError(operation, path, error)
      }
    }

    private static func open(_ path: String) throws(SQLitePersistenceError) -> DatabasePool {
      var configuration = Configuration()
      configuration.label = "Reactor"
      configuration.busyMode = .timeout(10)
      do {
        let pool = try DatabasePool(path: path, configuration: configuration)
        // In a transaction: GRDB looks twice, and another may be making the table.
        guard try !pool.read(SQLiteSchema.migrator.hasBeenSuperseded) else {
          throw SQLitePersistenceError.newerSchema(path: path)
        }
        try SQLiteSchema.migrate(pool)
        return pool
      } catch let error as SQLitePersistenceError {
        throw error
      } catch let error as DatabaseError {
        throw SQLitePersistenceError(.open, path, error)
      } catch {
        throw SQLitePersistenceError(.open, path, DatabaseError(message: "\(error)"))
      }
    }

    /// Makes the file before SQLite does: SQLite gives the two beside it the same permissions.
    ///
    /// A file that is there is not opened: closing it would end the locks of every connection of this process (POSIX
    /// locks belong to the process and the file).
    private static func makeFile(_ path: String) throws(SQLitePersistenceError) {
      var code = create(path)
      if code == ENOENT {
        code = makeDirectory((path as NSString).deletingLastPathComponent)
        if code == 0 { code = create(path) }
      }
      guard code == 0 || code == EEXIST else { throw .file(path: path, code: code) }
    }

    /// - Returns: 0 or the `errno`.
    private static func create(_ path: String) -> Int32 {
      let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return errno }
      close(descriptor)
      return 0
    }

    /// Makes it with those above it; one that is there stays as it is.
    ///
    /// - Returns: 0 or the `errno`.
    private static func makeDirectory(_ path: String) -> Int32 {
      guard mkdir(path, 0o700) != 0, errno != EEXIST else { return 0 }
      let parent = (path as NSString).deletingLastPathComponent
      guard errno == ENOENT, parent != path else { return errno }
      let code = makeDirectory(parent)
      return code != 0 || mkdir(path, 0o700) == 0 || errno == EEXIST ? code : errno
    }
  }
#endif
