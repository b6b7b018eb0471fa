#if SQLite
  import Foundation
  import HTTPCaching

  /// The files of one database, readable only by their owner: the database at `path`, and `-wal`,
  /// `-shm` and `-lock` beside it. SQLite creates `-wal` and `-shm` with the same permissions.
  struct SQLiteFiles: Sendable {
    let path: String
    let system: SQLiteSystem
    /// The number of databases that were set aside and are kept.
    let keptCount: Int
    /// A Boolean value that indicates whether the rows of a damaged database are adopted by its
    /// replacement.
    let adopts: Bool
    /// The suffixes of the files that form one database.
    static let suffixes = ["", "-wal", "-shm"]

    /// Makes the path absolute and resolves a link.
    ///
    /// - Throws: ``SQLitePersistenceError/invalidPath(_:)`` for a path that is empty, begins with a
    ///   colon or contains a NUL.
    init(
      _ path: String, system: SQLiteSystem = SQLiteSystem(), keeping keptCount: Int = 2, adopts: Bool = false
    ) throws(SQLitePersistenceError) {
      guard !path.isEmpty, !path.hasPrefix(":"), !path.utf8.contains(0) else { throw .invalidPath(path) }
      // Connections are also opened later, when the current directory may be another.
      let absolute = URL(filePath: path, directoryHint: .notDirectory).absoluteURL.path(percentEncoded: false)
      self.path = try system.target(of: absolute) ?? absolute
      self.system = system
      self.keptCount = keptCount
      self.adopts = adopts
    }

    typealias Identity = FileStatus.Identity

    /// Returns the identity of the file, or `nil` if the file does not exist. The file is not
    /// opened, because closing it would release the locks of all connections in this process. POSIX
    /// locks belong to the process and the file.
    func identity() throws(SQLitePersistenceError) -> Identity? {
      try system.status(path)?.identity
    }

    /// Creates the file if it does not exist, before SQLite does. Restricts an existing one to its
    /// owner. The caller holds the lock.
    func prepare() throws(SQLitePersistenceError) {
      if try identity() == nil {
        try beginAdoption()
        // SQLite would take the leftovers of a removed database for a part of the new one.
        try system.remove(path + "-wal")
        try system.remove(path + "-shm")
      }
      guard try !makeFile(path) else { return }
      for suffix in Self.suffixes { try system.restrict(path + suffix) }
    }

    /// Runs `body` while no other thread or process opens the database or sets it aside.
    ///
    /// - Throws: The error of `body`; ``SQLitePersistenceError/file(path:code:)``, with
    ///   `EWOULDBLOCK` if another process or thread holds the lock for ten seconds.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
      let path = path + "-lock"
      // Somebody may remove the file while another process creates and locks a new one, but not
      // repeatedly.
      for _ in 0..<8 {
        _ = try makeFile(path)
        guard let file = try system.open(path) else { continue }
        try system.lock(file, path)
        guard try system.status(path)?.identity == system.status(file).identity else { continue }
        // Closing the file releases the lock.
        return try withExtendedLifetime(file) { try body() }
      }
      throw SQLitePersistenceError.file(path: path, code: ENOENT)
    }

    /// Creates an empty file, with the directories above it.
    ///
    /// - Returns: `false` if there was one.
    private func makeFile(_ path: String) throws(SQLitePersistenceError) -> Bool {
      do throws(SQLitePersistenceError) {
        return try system.create(path)
      } catch .file(path, ENOENT) {
        try system.makeDirectory((path as NSString).deletingLastPathComponent)
        return try system.create(path)
      }
    }
  }
#endif
