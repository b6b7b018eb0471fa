#if SQLite
  import Foundation

  /// The calls of the operating system that ``SQLiteFiles`` needs, and how long to wait for what another process holds.
  /// SQLite makes its own.
  struct SQLiteSystem: Sendable {
    enum Call: Sendable, CaseIterable {
      case open, create, createDirectory, synchronize, inspect, restrict, resolve, lock, rename, remove, list
    }

    /// For the lock of ``SQLiteFiles``, and for SQLite's own. SQLite waits itself, in C and in real time: a clock cannot
    /// be put in its place, but tests wait for nothing.
    var lockWait: Duration = .seconds(10)
    /// Asked before each call with its path: the `errno` with which it fails instead. Only tests set it.
    var fault: (@Sendable (Call, String) -> Int32?)?

    /// Makes one call, as often as a signal interrupts it.
    ///
    /// - Parameter body: returns less than zero for a failure that is in `errno`.
    /// - Returns: what `body` does; `nil` where it failed with one of the codes in `allowed`.
    @discardableResult func call(
      _ call: Call, _ path: String, allowing allowed: Int32..., body: () -> Int32
    ) throws(SQLitePersistenceError) -> Int32? {
      while true {
        var code = fault?(call, path) ?? 0
        if code == 0 {
          let result = body()
          if result >= 0 { return result }
          code = errno
        }
        if allowed.contains(code) { return nil }
        guard code == EINTR else { throw .file(path: path, code: code) }
      }
    }
  }

  extension SQLiteSystem {
    /// Makes an empty file for its owner alone.
    ///
    /// - Returns: whether there was none.
    func create(_ path: String) throws(SQLitePersistenceError) -> Bool {
      let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
      guard let descriptor = try call(.create, path, allowing: EEXIST, body: { Foundation.open(path, flags, 0o600) })
      else { return false }
      close(descriptor)
      return true
    }

    /// Makes the directory, with those above it; one that is there stays as it is. SQLite synchronises the directory of its files,
    /// and none above it.
    func makeDirectory(_ path: String) throws(SQLitePersistenceError) {
      let parent = (path as NSString).deletingLastPathComponent
      let make = { () throws(SQLitePersistenceError) in
        try call(.createDirectory, path, allowing: EEXIST) { mkdir(path, 0o700) } != nil
      }
      let isNew: Bool
      do throws(SQLitePersistenceError) {
        isNew = try make()
      } catch .file(path, ENOENT) where parent != path {
        try makeDirectory(parent)
        isNew = try make()
      }
      guard isNew else { return }
      do throws(SQLitePersistenceError) {
        try synchronize(parent)
      } catch {
        // Whoever tries again must not take it for one that was synchronised.
        rmdir(path)
        throw error
      }
    }

    /// Makes what happened to the directory's names survive a power cut, where it may be read and its file system can do that.
    private func synchronize(_ directory: String) throws(SQLitePersistenceError) {
      let descriptor = try call(.open, directory, allowing: EACCES) { Foundation.open(directory, O_RDONLY | O_CLOEXEC) }
      guard let descriptor else { return }
      defer { close(descriptor) }
      try call(.synchronize, directory, allowing: EINVAL, ENOTSUP) { fsync(descriptor) }
    }

    /// `nil` where there is no file.
    func status(_ path: String) throws(SQLitePersistenceError) -> stat? {
      var status = stat()
      return try call(.inspect, path, allowing: ENOENT) { stat(path, &status) } == nil ? nil : status
    }

    /// Takes the lock of an open file, which ends with it.
    ///
    /// - Throws: ``SQLitePersistenceError/file(path:code:)`` with `EWOULDBLOCK` where another holds it for
    ///   ``lockWait``.
    func lock(_ descriptor: Int32, _ path: String) throws(SQLitePersistenceError) {
      let deadline = ContinuousClock.now + lockWait
      while try call(.lock, path, allowing: EWOULDBLOCK, body: { flock(descriptor, LOCK_EX | LOCK_NB) }) == nil {
        guard ContinuousClock.now < deadline else { throw .file(path: path, code: EWOULDBLOCK) }
        // No call of the system waits for this lock for a limited time: SQLite's busy handler looks again and again, too.
        usleep(2_000)
      }
    }

    /// - Returns: whether there was one.
    @discardableResult func rename(_ from: String, to new: String) throws(SQLitePersistenceError) -> Bool {
      try call(.rename, from, allowing: ENOENT) { Foundation.rename(from, new) } != nil
    }

    func remove(_ path: String) throws(SQLitePersistenceError) {
      try call(.remove, path, allowing: ENOENT) { unlink(path) }
    }

    /// The names in a directory; none where there is no directory.
    func list(_ directory: String) throws(SQLitePersistenceError) -> [String] {
      var names: [String] = []
      try call(.list, directory, allowing: ENOENT) {
        guard let stream = opendir(directory) else { return -1 }
        defer { closedir(stream) }
        while true {
          errno = 0
          guard let entry = readdir(stream) else { return errno == 0 ? 0 : -1 }
          names.append(
            withUnsafePointer(to: &entry.pointee.d_name) {
              String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            })
        }
      }
      return names
    }

    /// Where a link points to: SQLite names its other files after that. `nil` for what is no link.
    func target(of path: String) throws(SQLitePersistenceError) -> String? {
      var status = stat()
      let isThere = try call(.inspect, path, allowing: ENOENT, ENOTDIR) { lstat(path, &status) } != nil
      guard isThere, status.st_mode & S_IFMT == S_IFLNK else { return nil }
      var target: String?
      try call(.resolve, path, allowing: ENOENT) {
        guard let resolved = realpath(path, nil) else { return -1 }
        defer { free(resolved) }
        target = String(cString: resolved)
        return 0
      }
      return target
    }

    /// Makes a file that is there its owner's alone.
    func restrict(_ path: String) throws(SQLitePersistenceError) {
      guard let status = try status(path), status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o7777 != 0o600 else {
        return
      }
      try call(.restrict, path) { chmod(path, 0o600) }
    }
  }
#endif
