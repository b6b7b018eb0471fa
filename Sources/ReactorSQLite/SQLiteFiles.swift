#if SQLite
  import Foundation
  import HTTPCaching

  /// The files of one database, for their owner alone: `path`, and beside it `-wal` and `-shm`, which SQLite makes with
  /// the same permissions, and `-lock`.
  struct SQLiteFiles: Sendable {
    let path: String
    let system: SQLiteSystem
    /// What SQLite keeps in other files: a database is all three.
    static let suffixes = ["", "-wal", "-shm"]

    init(_ path: String, system: SQLiteSystem = SQLiteSystem()) throws(SQLitePersistenceError) {
      guard !path.isEmpty, !path.hasPrefix(":"), !path.utf8.contains(0) else { throw .invalidPath(path) }
      // Connections are opened later too, when the current directory may be another.
      let absolute = URL(filePath: path, directoryHint: .notDirectory).absoluteURL.path(percentEncoded: false)
      self.path = try system.target(of: absolute) ?? absolute
      self.system = system
    }

    typealias Identity = FileStatus.Identity

    /// `nil` where there is no file. The file is not opened: closing it would end the locks of every connection of this
    /// process (POSIX locks belong to the process and the file).
    func identity() throws(SQLitePersistenceError) -> Identity? {
      try system.status(path)?.identity
    }

    /// Makes the file where there is none, before SQLite does; one that is there is made the owner's alone. The lock is held.
    func prepare() throws(SQLitePersistenceError) {
      if try identity() == nil {
        // What is left of a database that is gone would be taken for a part of the new one.
        try system.remove(path + "-wal")
        try system.remove(path + "-shm")
      }
      guard try !makeFile(path) else { return }
      for suffix in Self.suffixes { try system.restrict(path + suffix) }
    }

    /// Runs `body` while no other thread or process opens the database or sets it aside.
    ///
    /// - Throws: what `body` throws; ``SQLitePersistenceError/file(path:code:)``, with `EWOULDBLOCK` where another holds
    ///   the lock for ten seconds.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
      let path = path + "-lock"
      // Somebody may remove it, and another make and lock a new one; but not for ever.
      for _ in 0..<8 {
        _ = try makeFile(path)
        guard let file = try system.open(path) else { continue }
        try system.lock(file, path)
        guard try system.status(path)?.identity == system.status(file).identity else { continue }
        // The lock ends with the file.
        return try withExtendedLifetime(file) { try body() }
      }
      throw SQLitePersistenceError.file(path: path, code: ENOENT)
    }

    /// Makes an empty file, with the directories above it.
    ///
    /// - Returns: whether there was none.
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
