#if SQLite
  import Foundation

  /// The files of one database, for their owner alone: `path`, and beside it `-wal` and `-shm`, which SQLite makes with
  /// the same permissions, and `-lock`.
  struct SQLiteFiles: Sendable {
    let path: String
    /// What SQLite keeps in other files: a database is all three.
    static let suffixes = ["", "-wal", "-shm"]

    init(_ path: String) throws(SQLitePersistenceError) {
      guard !path.isEmpty, !path.hasPrefix(":"), !path.utf8.contains(0) else { throw .invalidPath(path) }
      // Connections are opened later too, when the current directory may be another.
      let absolute = URL(filePath: path, directoryHint: .notDirectory).absoluteURL.path(percentEncoded: false)
      self.path = Self.target(of: absolute) ?? absolute
    }

    /// Tells one file from another that has its name later.
    struct Identity: Equatable {
      var device: dev_t
      var number: ino_t
    }

    /// `nil` where there is no file. The file is not opened: closing it would end the locks of every connection of this
    /// process (POSIX locks belong to the process and the file).
    func identity() -> Identity? {
      var status = stat()
      return stat(path, &status) == 0 ? Identity(device: status.st_dev, number: status.st_ino) : nil
    }

    /// Makes the file where there is none, before SQLite does; one that is there is made the owner's alone.
    func prepare() throws(SQLitePersistenceError) {
      let code = try makeFile(path)
      if code == 0 {
        // What is left of a database that is gone would be taken for a part of this one.
        try remove(path + "-wal")
        try remove(path + "-shm")
      } else {
        for suffix in Self.suffixes { try restrict(path + suffix) }
      }
    }

    /// Runs `body` while no other thread or process opens the database or sets it aside.
    ///
    /// - Throws: what `body` throws; ``SQLitePersistenceError/file(path:code:)`` where another holds the lock for ten
    ///   seconds.
    func withLock<Value>(_ body: () throws -> Value) throws -> Value {
      let path = path + "-lock"
      while true {
        _ = try makeFile(path)
        let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
          guard errno != ENOENT else { continue }
          throw SQLitePersistenceError.file(path: path, code: errno)
        }
        defer { close(descriptor) }
        try Self.lock(descriptor, path)
        var (held, named) = (stat(), stat())
        // Somebody may have removed it, and another have made and locked a new one.
        guard fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_ino == named.st_ino else { continue }
        return try body()
      }
    }

    func rename(_ from: String, to new: String) throws(SQLitePersistenceError) {
      guard Foundation.rename(from, new) == 0 || errno == ENOENT else { throw .file(path: from, code: errno) }
    }

    func remove(_ path: String) throws(SQLitePersistenceError) {
      guard unlink(path) == 0 || errno == ENOENT else { throw .file(path: path, code: errno) }
    }
  }

  extension SQLiteFiles {
    /// Where a link points to: SQLite names its other files after that.
    private static func target(of path: String) -> String? {
      var status = stat()
      guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, let resolved = realpath(path, nil) else {
        return nil
      }
      defer { free(resolved) }
      return String(cString: resolved)
    }

    /// Makes an empty file, with the directories above it.
    ///
    /// - Returns: 0, or `EEXIST`.
    private func makeFile(_ path: String) throws(SQLitePersistenceError) -> Int32 {
      var code = Self.create(path)
      if code == ENOENT {
        code = Self.makeDirectory((path as NSString).deletingLastPathComponent)
        if code == 0 { code = Self.create(path) }
      }
      guard code == 0 || code == EEXIST else { throw .file(path: path, code: code) }
      return code
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
      let parent = (path as NSString).deletingLastPathComponent
      var code = mkdir(path, 0o700) == 0 ? 0 : errno
      if code == ENOENT, parent != path {
        code = makeDirectory(parent)
        if code == 0, mkdir(path, 0o700) != 0 { code = errno }
      }
      if code == 0 { synchronize(parent) }
      return code == EEXIST ? 0 : code
    }

    /// SQLite synchronises the directory of its files, and none above it.
    private static func synchronize(_ directory: String) {
      let descriptor = Foundation.open(directory.isEmpty ? "." : directory, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return }
      _ = fsync(descriptor)
      close(descriptor)
    }

    private func restrict(_ path: String) throws(SQLitePersistenceError) {
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o7777 != 0o600 else {
        return
      }
      guard chmod(path, 0o600) == 0 else { throw .file(path: path, code: errno) }
    }

    private static func lock(_ descriptor: Int32, _ path: String) throws(SQLitePersistenceError) {
      let deadline = ContinuousClock.now + .seconds(10)
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK || errno == EINTR, ContinuousClock.now < deadline else {
          throw .file(path: path, code: errno)
        }
        // No call of the system waits for this lock for a limited time: SQLite's busy handler looks again and again, too.
        usleep(2_000)
      }
    }
  }
#endif
