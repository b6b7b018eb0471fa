#if SQLite
  import Foundation
  import HTTPCaching

  /// The system calls of ``SQLiteFiles``, and the time to wait for other processes. SQLite makes
  /// its own calls.
  struct SQLiteSystem: Sendable {
    /// A call that `FileSystem` does not make.
    enum Call: Sendable, CaseIterable {
      case restrict, resolve, lock
    }

    var files = FileSystem()
    /// The time to wait for the lock of ``SQLiteFiles`` and for SQLite's locks. SQLite waits in C
    /// and in real time, so a test sets this to zero instead of injecting a clock.
    var lockWait: Duration = .seconds(10)
    /// The time after which a suspension interrupts what is under way, each time.
    var patience: Duration = .seconds(1)
    /// Called when a suspension has begun to refuse accesses. Only tests set it.
    var refuses: @Sendable () -> Void = {}
    /// Returns the `errno` with which a call on a path fails; `nil` lets the call happen. Only
    /// tests set it.
    var fault: (@Sendable (Call, String) -> Int32?)?

    /// Makes a call, and repeats it while signals interrupt it.
    ///
    /// - Parameter body: Returns a negative number for a failure, and leaves its code in `errno`.
    /// - Returns: `false` if `body` failed with `allowed`.
    @discardableResult private func call(
      _ call: Call, _ path: String, allowing allowed: Int32? = nil, body: () -> Int32
    ) throws(SQLitePersistenceError) -> Bool {
      let fault = { self.fault?(call, path).map { FileSystem.Fault.error($0) } }
      let code = FileSystem.uninterrupted(fault: fault) { _ in Int(body()) }.code
      guard code == 0 || code == allowed else { throw .file(path: path, code: code) }
      return code == 0
    }

    private func typed<Value: ~Copyable>(
      _ body: () throws(FilePersistence.Failure) -> Value
    ) throws(SQLitePersistenceError) -> Value {
      do { return try body() } catch { throw .file(path: error.path, code: error.code) }
    }
  }

  extension SQLiteSystem {
    /// Creates an empty file that only its owner may read and write.
    ///
    /// - Returns: `false` if there was one.
    func create(_ path: String) throws(SQLitePersistenceError) -> Bool {
      do throws(SQLitePersistenceError) {
        _ = try typed { () throws(FilePersistence.Failure) in try files.create(path) }
        return true
      } catch .file(path, EEXIST) {
        return false
      }
    }

    /// Creates a directory and its parents, and leaves an existing one unchanged. The names are
    /// synchronized, because SQLite synchronizes only the directory of its files.
    func makeDirectory(_ path: String) throws(SQLitePersistenceError) {
      try typed { () throws(FilePersistence.Failure) in try files.makeDirectory(path, synchronizes: true) }
    }

    /// Synchronizes the names in a directory, so that they survive a power cut.
    func synchronizeDirectory(_ path: String) throws(SQLitePersistenceError) {
      try typed { () throws(FilePersistence.Failure) in try files.synchronizeDirectory(path) }
    }

    /// Opens a file for reading and writing, or returns `nil` if it does not exist.
    func open(_ path: String) throws(SQLitePersistenceError) -> OpenFile? {
      try typed { () throws(FilePersistence.Failure) in try files.open(path, writes: true) }
    }

    /// Returns the status of a file or of a link's target, or `nil` if neither exists.
    func status(_ path: String) throws(SQLitePersistenceError) -> FileStatus? {
      try typed { () throws(FilePersistence.Failure) in try files.inspect(path, followsLink: true) }
    }

    func status(_ file: borrowing OpenFile) throws(SQLitePersistenceError) -> FileStatus {
      do { return try file.status() } catch { throw .file(path: error.path, code: error.code) }
    }

    /// Renames a file. Does nothing if the file does not exist.
    func rename(_ from: String, to new: String) throws(SQLitePersistenceError) {
      do {
        try files.rename(from, to: new)
      } catch {
        guard error.code == ENOENT else { throw .file(path: from, code: error.code) }
      }
    }

    /// Removes a file. Does nothing if the file does not exist.
    func remove(_ path: String) throws(SQLitePersistenceError) {
      try typed { () throws(FilePersistence.Failure) in _ = try files.remove(path) }
    }

    /// Returns the names in a directory that begin with `prefix`. Returns none if there is no
    /// directory.
    func list(_ directory: String, prefix: String) throws(SQLitePersistenceError) -> [String] {
      try typed { () throws(FilePersistence.Failure) in try files.list(directory, prefix: prefix) }
    }

    /// Returns the target of a link, after which SQLite names its other files. Returns `nil` for
    /// anything but a link.
    func target(of path: String) throws(SQLitePersistenceError) -> String? {
      do throws(SQLitePersistenceError) {
        let status = try typed { () throws(FilePersistence.Failure) in try files.inspect(path) }
        guard status?.isLink == true else { return nil }
      } catch .file(path, ENOTDIR) {
        return nil
      }
      var target: String?
      try call(.resolve, path, allowing: ENOENT) {
        guard let resolved = realpath(path, nil) else { return -1 }
        defer { free(resolved) }
        target = String(cString: resolved)
        return 0
      }
      return target
    }

    /// Restricts an existing file to its owner.
    func restrict(_ path: String) throws(SQLitePersistenceError) {
      guard let status = try status(path), status.isRegular, status.permissions != 0o600 else { return }
      try call(.restrict, path) { chmod(path, 0o600) }
    }

    /// Acquires the lock of an open file. Closing the file releases it.
    ///
    /// - Throws: ``SQLitePersistenceError/file(path:code:)`` with `EWOULDBLOCK` if another holds it
    ///   for ``lockWait``.
    func lock(_ file: borrowing OpenFile, _ path: String) throws(SQLitePersistenceError) {
      let (descriptor, deadline) = (file.descriptor, ContinuousClock.now + lockWait)
      while try !call(.lock, path, allowing: EWOULDBLOCK, body: { flock(descriptor, LOCK_EX | LOCK_NB) }) {
        guard ContinuousClock.now < deadline else { throw .file(path: path, code: EWOULDBLOCK) }
        // No system call waits for this lock for a limited time. SQLite's busy handler polls as
        // well.
        usleep(2_000)
      }
    }
  }
#endif
