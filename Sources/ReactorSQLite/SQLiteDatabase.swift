#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching
  import Synchronization

  /// The open connections to one file of a ``SQLiteDatabase``.
  protocol SQLiteOpened: AnyObject, Sendable {
    /// The identity of the opened file, which another file at the path does not have.
    var identity: SQLiteFiles.Identity { get }
    /// - Throws: `DatabaseError` on a disk that is read-only.
    var writer: SQLiteWritingConnection { get throws }

    /// Returns whether every table and column exists.
    func isIntact() throws -> Bool

    /// Makes the statements under way fail.
    func interrupt()

    /// Takes over the readable rows of a damaged database. It is called again if it throws, or if
    /// the process exits before it returns.
    func adopt(setAside path: String) throws
  }

  extension SQLiteOpened {
    func adopt(setAside path: String) throws {}
  }

  /// The database at a path, which outlives its file.
  ///
  /// A damaged file is set aside, and a new one is created. If another process replaced or removed
  /// the file, the file that is now at the path is opened.
  final class SQLiteDatabase<Connections: SQLiteOpened>: Sendable {
    let files: SQLiteFiles
    private let opening: Opening
    private let now: @Sendable () -> Date
    private let state: Mutex<State>
    private let accesses: SQLiteAccesses
    /// The seconds for which a load may miss that the file was replaced. A write always notices.
    private static var checkInterval: Double { 1 }

    /// Opens the files of a database that exists. The caller holds their lock.
    typealias Opening = @Sendable (SQLiteFiles) throws -> Connections

    private struct State {
      var connections: Connections
      /// The error that the next load throws.
      var notice: SQLitePersistenceError?
      /// The time at which a load last compared the file with the opened one.
      var checkedAt: Date
    }

    /// - Parameter readOnly: Opens a database that exists, on a disk that is read-only and so has
    ///   no lock. `nil` for a store that is of no use there.
    init(
      _ files: SQLiteFiles, now: @escaping @Sendable () -> Date, readOnly: Opening? = nil, opening: @escaping Opening
    ) throws {
      self.files = files
      self.opening = opening
      self.now = now
      accesses = SQLiteAccesses(files.path, patience: files.system.patience, refuses: files.system.refuses)
      let (connections, notice): (Connections, SQLitePersistenceError?)
      do {
        (connections, notice) = try files.withLock { try Self.open(files, opening, now) }
      } catch SQLitePersistenceError.file(let path, let code) {
        guard code == EROFS, let readOnly, try files.identity() != nil else {
          throw SQLitePersistenceError.file(path: path, code: code)
        }
        do { (connections, notice) = (try readOnly(files), nil) } catch {
          throw SQLitePersistenceError.outward(.open, files.path, error)
        }
      }
      state = Mutex(State(connections: connections, notice: notice, checkedAt: now()))
    }

    /// Reads from the connections. Repeats the read if the database was replaced meanwhile.
    ///
    /// - Throws: The error of `body`. With the operation `load`, also a pending
    ///   ``SQLitePersistenceError/setAside(path:as:reason:)``.
    func read<Value>(
      _ operation: SQLitePersistenceError.Operation, at date: Date, _ body: (Connections) throws -> Value
    ) throws -> Value {
      try accesses.run {
        var attempts = 0
        while true {
          let (connections, notice) = try connections(at: date, takingNotice: operation == .load)
          if let notice { throw notice }
          do {
            return try body(connections)
          } catch {
            attempts += 1
            guard attempts < 4, try isReplaced(connections, after: error, isFirst: attempts == 1) else { throw error }
          }
        }
      }
    }

    /// Runs `body` in a transaction, as an access of its own; see ``Access/write(waits:_:)``.
    func write<Value>(waits: Bool = true, _ body: (Database) throws -> Value) throws -> Value {
      try access { try $0.write(waits: waits, body) }
    }

    /// Runs `body` on the writing connection, as an access of its own.
    func manage<Value>(_ body: (Database) throws -> Value) throws -> Value { try access { try $0.manage(body) } }

    /// Runs several steps as one access: a suspension comes before or after all of them.
    func access<Value>(_ body: (Access) throws -> Value) throws -> Value {
      try accesses.run { try body(Access(database: self)) }
    }

    /// Begins a copy of files, which is no access: a suspension does not wait for it.
    ///
    /// - Throws: ``SQLitePersistenceError/suspended(path:)``.
    func beginCopy() throws -> Copy { Copy(accesses: accesses, suspensions: try accesses.suspensions()) }

    /// A copy that ends when the store is suspended.
    struct Copy: Sendable {
      fileprivate let accesses: SQLiteAccesses
      fileprivate let suspensions: Int

      /// - Throws: ``SQLitePersistenceError/suspended(path:)`` if the store was suspended since the
      ///   copy began, also if it was resumed.
      func check() throws { try accesses.check(since: suspensions) }

      /// Runs `body`, which takes a lock, as an access.
      func lock<Value>(_ body: () throws -> Value) throws -> Value {
        try accesses.run {
          try check()
          return try body()
        }
      }
    }

    /// The steps of an access that has begun. It is of use only within the access.
    struct Access {
      fileprivate let database: SQLiteDatabase

      /// Runs `body` in a transaction. When the method returns, the transaction is committed to the
      /// file at the path. Repeats `body` if the database was replaced meanwhile.
      ///
      /// - Parameter waits: A Boolean value that indicates whether to wait for other processes.
      func write<Value>(waits: Bool = true, _ body: (Database) throws -> Value) throws -> Value {
        try database.attempt { try $0.writer.write(waits: waits, body) }
      }

      /// Runs `body` on the writing connection, without a transaction.
      func manage<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try database.attempt { try $0.writer.manage(body) }
      }

      /// Removes the databases that were set aside.
      func removeSetAside() throws { try database.files.withLock { try database.files.removeSetAside() } }
    }

    /// Returns when no access is under way. Accesses throw until ``resume()``.
    func suspend() { accesses.suspend { current.interrupt() } }

    func resume() { accesses.resume() }

    /// Returns the error of a database that was set aside, and clears it.
    func takeNotice() -> SQLitePersistenceError? { state.withLock { $0.notice.take() } }

    fileprivate func attempt<Value>(_ body: (Connections) throws -> Value) throws -> Value {
      var attempts = 0
      while true {
        let connections = current
        do {
          // Checked before `body` to avoid useless work, and again after it: a file that was set
          // aside in between is the only one with the change.
          if try connections.identity == files.identity() {
            let value = try body(connections)
            if try connections.identity == files.identity() { return value }
          }
          try replace(connections, nil)
          attempts += 1
          guard attempts < 4 else { throw SQLitePersistenceError.file(path: files.path, code: ENOENT) }
        } catch {
          attempts += 1
          guard attempts < 4, try isReplaced(connections, after: error, isFirst: attempts == 1) else { throw error }
        }
      }
    }
  }

  extension SQLiteDatabase where Connections == SQLiteConnections {
    /// A Boolean value that indicates whether the disk is read-only.
    var isReadOnly: Bool { current.isReadOnly }

    /// The key of the database that is open now. After a replacement, it is another key.
    var secretKey: RecordKey.SecretKey? { current.secretKey }

    /// Runs `body` on a reading connection. Damage is an error like any other here, and nothing is
    /// set aside.
    func inspect<Value>(_ body: (Database) throws -> Value) throws -> Value {
      try accesses.run {
        for _ in 0..<4 {
          let (connections, _) = try connections(at: now(), takingNotice: false)
          do {
            return try connections.read(body)
          } catch {
            // The connection may be opened only now, after another process replaced or removed the
            // file.
            guard error is DatabaseError, try connections.identity != files.identity() else { throw error }
            try replace(connections, nil)
          }
        }
        throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
      }
    }
  }

  extension SQLiteDatabase {
    private var current: Connections { state.withLock(\.connections) }

    private func connections(
      at date: Date, takingNotice: Bool
    ) throws -> (Connections, SQLitePersistenceError?) {
      let (connections, notice, isDue) = state.withLock { state in
        let notice = takingNotice ? state.notice.take() : nil
        let age = date.timeIntervalSince(state.checkedAt)
        let isDue = age >= Self.checkInterval || age < 0
        if isDue { state.checkedAt = date }
        return (state.connections, notice, isDue)
      }
      guard isDue, notice == nil, try connections.identity != files.identity() else { return (connections, notice) }
      try replace(connections, nil)
      return try self.connections(at: date, takingNotice: takingNotice)
    }

    /// Returns whether the connections on which `error` was thrown were replaced, because their
    /// file is damaged or no longer at the path.
    ///
    /// - Parameter isFirst: A Boolean value that indicates whether this is the first attempt. A
    ///   disk error also looks like damage, because SQLite's unix VFS turns the `EIO` of a read
    ///   into `SQLITE_IOERR_CORRUPTFS`. So a file is set aside only if new connections find it
    ///   damaged as well.
    private func isReplaced(_ connections: Connections, after error: any Error, isFirst: Bool) throws -> Bool {
      guard error is DatabaseError || error is SQLiteDamage else { return false }
      guard try connections.identity == files.identity() else {
        try replace(connections, nil)
        return true
      }
      guard let damage = damage(connections, error) else { return false }
      try replace(connections, isFirst ? nil : damage, reopens: isFirst)
      return true
    }

    private func damage(_ connections: Connections, _ error: any Error) -> SQLiteDamage? {
      if let damage = SQLiteDamage(error) { return damage }
      // With the library's tables in place, none of its statements has an error.
      guard (error as? DatabaseError)?.resultCode == .SQLITE_ERROR else { return nil }
      do {
        return try connections.isIntact() ? nil : .foreignSchema
      } catch {
        return SQLiteDamage(error)
      }
    }

    /// Opens the file at the path, and sets it aside first if it is damaged. Does nothing if
    /// another thread has replaced the connections. A file that another process replaced is not set
    /// aside.
    ///
    /// - Parameter reopens: A Boolean value that indicates whether to open the file again even if
    ///   `old` has opened the same file.
    private func replace(_ old: Connections, _ damage: SQLiteDamage?, reopens: Bool = false) throws {
      try files.withLock {
        guard state.withLock({ $0.connections === old }) else { return }
        let isSame = try old.identity == files.identity()
        guard !isSame || damage != nil || reopens else { return }
        let (new, notice) = try Self.open(files, opening, settingAside: isSame ? damage : nil, now)
        state.withLock { state in
          state.connections = new
          state.notice = notice ?? state.notice
        }
      }
    }

    /// Opens the database, or creates it. Sets a damaged database aside. The caller holds the lock.
    private static func open(
      _ files: SQLiteFiles, _ opening: Opening, settingAside damage: SQLiteDamage? = nil, _ now: () -> Date
    ) throws -> (Connections, SQLitePersistenceError?) {
      var notice = try damage.map { try files.setAside($0, at: now()) }
      var isSuspect = false
      while true {
        do {
          try files.prepare()
          let connections = try opening(files)
          // The rows that cannot be read stay in the file that was set aside.
          if try files.hasUnadopted() {
            try connections.adopt(setAside: files.unadoptedPath)
            try files.endAdoption(at: now())
          }
          return (connections, notice)
        } catch {
          guard notice == nil, let damage = SQLiteDamage(error) else {
            throw SQLitePersistenceError.outward(.open, files.path, error)
          }
          // A disk error may look like damage once, as above.
          if isSuspect { notice = try files.setAside(damage, at: now()) }
          isSuspect = true
        }
      }
    }
  }
#endif
