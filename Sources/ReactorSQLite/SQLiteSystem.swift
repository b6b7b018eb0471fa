#if SQLite
  import Foundation
  import HTTPCaching

  /// The calls of the operating system that ``SQLiteFiles`` needs, and how long to wait for what another process holds.
  /// SQLite makes its own.
  struct SQLiteSystem: Sendable {
    /// A call that ``FileSystem`` does not make.
    enum Call: Sendable, CaseIterable {
      case restrict, resolve, lock
    }

    var files = FileSystem()
    /// For the lock of ``SQLiteFiles``, and for SQLite's own. SQLite waits itself, in C and in real time: a clock cannot
    /// be put in its place, but tests wait for nothing.
    var lockWait: Duration = .seconds(10)
    /// Asked before each call with its path: the `errno` with which it fails instead. Only tests set it.
    var fault: (@Sendable (Call, String) -> Int32?)?

    /// - Parameter body: returns less than zero for a failure that is in `errno`.
    /// - Returns: `false` where `body` failed with `allowed`.
    @discardableResult private func call(
      _ call: Call, _ path: String, allowing allowed: Int32? = nil, body: () -> Int32
    ) throws(SQLitePersistenceError) -> Bool {
      let fault = { self.fault?(call, path).map { FileSystem.Fault.error($0) } }
      let code = FileSystem.uninterrupted(fault: fault) { _ in Int(body()) }.code
      guard code == 0 || code == allowed else { throw .file(path: path, code: code) }
      return code == 0
    }

    private func typed<Value: ~Copyable>(
      _ body: () throws(FilePersistenceError) -> Value
    ) throws(SQLitePersistenceError) -> Value {
      do { return try body() } catch { throw .file(path: error.path, code: error.code) }
    }
  }

  extension SQLiteSystem {
    /// Makes an empty file for its owner alone.
    ///
    /// - Returns: whether there was none.
    func create(_ path: String) throws(SQLitePersistenceError) -> Bool {
      do throws(SQLitePersistenceError) {
        _ = try typed { () throws(FilePersistenceError) in try files.create(path) }
        return true
      } catch .file(path, EEXIST) {
        return false
      }
    }

    /// Makes the directory, with those above it; one that is there stays as it is. SQLite
    /// synchronises the directory of its files, and none above it.
    func makeDirectory(_ path: String) throws(SQLitePersistenceError) {
      try typed { () throws(FilePersistenceError) in try files.makeDirectory(path, synchronizes: true) }
    }

    /// The file for reading and writing; `nil` where there is none.
    func open(_ path: String) throws(SQLitePersistenceError) -> OpenFile? {
      try typed { () throws(FilePersistenceError) in try files.open(path, writes: true) }
    }

    /// The status of a file that a link may lead to; `nil` where there is none.
    func status(_ path: String) throws(SQLitePersistenceError) -> FileStatus? {
      try typed { () throws(FilePersistenceError) in try files.inspect(path, followsLink: true) }
    }

    func status(_ file: borrowing OpenFile) throws(SQLitePersistenceError) -> FileStatus {
      do { return try file.status() } catch { throw .file(path: error.path, code: error.code) }
    }

    /// Nothing happens where there is no such file.
    func rename(_ from: String, to new: String) throws(SQLitePersistenceError) {
      do {
        try files.rename(from, to: new)
      } catch {
        guard error.code == ENOENT else { throw .file(path: from, code: error.code) }
      }
    }

    func remove(_ path: String) throws(SQLitePersistenceError) {
      try typed { () throws(FilePersistenceError) in _ = try files.remove(path) }
    }

    /// The names in a directory that begin with `prefix`; none where there is no directory.
    func list(_ directory: String, prefix: String) throws(SQLitePersistenceError) -> [String] {
      try typed { () throws(FilePersistenceError) in try files.list(directory, prefix: prefix) }
    }

    /// The path that a link leads to: SQLite names its other files after that. `nil` for what is no link.
    func target(of path: String) throws(SQLitePersistenceError) -> String? {
      do throws(SQLitePersistenceError) {
        let status = try typed { () throws(FilePersistenceError) in try files.inspect(path) }
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

    /// Makes a file that is there its owner's alone.
    func restrict(_ path: String) throws(SQLitePersistenceError) {
      guard let status = try status(path), status.isRegular, status.permissions != 0o600 else { return }
      try call(.restrict, path) { chmod(path, 0o600) }
    }

    /// Takes the lock of an open file, which ends with it.
    ///
    /// - Throws: ``SQLitePersistenceError/file(path:code:)`` with `EWOULDBLOCK` where another holds it for
    ///   ``lockWait``.
    func lock(_ file: borrowing OpenFile, _ path: String) throws(SQLitePersistenceError) {
      let (descriptor, deadline) = (file.descriptor, ContinuousClock.now + lockWait)
      while try !call(.lock, path, allowing: EWOULDBLOCK, body: { flock(descriptor, LOCK_EX | LOCK_NB) }) {
        guard ContinuousClock.now < deadline else { throw .file(path: path, code: EWOULDBLOCK) }
        // No call of the system waits for this lock for a limited time: SQLite's busy handler looks again and again, too.
        usleep(2_000)
      }
    }
  }
#endif
