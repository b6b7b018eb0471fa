#if SQLite
  import Foundation
  import GRDB
  import HTTPCaching
  import Synchronization

  /// The database at a path, whatever becomes of its file: where it is damaged, it is set aside and begun anew; where
  /// somebody else has done that, or has removed it, what is there now is opened.
  final class SQLiteDatabase: Sendable {
    let files: SQLiteFiles
    private let synchronization: SQLitePersistence.Synchronization
    private let readerCount: Int
    private let now: @Sendable () -> Date
    private let state: Mutex<State>
    /// In seconds: how long a load may not see that the file is another. A write always sees it.
    private static let checkInterval = 1.0

    private struct State {
      var connections: SQLiteConnections
      /// What the next load throws.
      var notice: SQLitePersistenceError?
      /// When a load looked last whether the file is still the one that was opened.
      var checkedAt: Date
    }

    init(
      _ files: SQLiteFiles, _ synchronization: SQLitePersistence.Synchronization, readers: Int,
      now: @escaping @Sendable () -> Date
    ) throws {
      self.files = files
      self.synchronization = synchronization
      readerCount = readers
      self.now = now
      let (connections, notice) = try files.withLock {
        try Self.open(files, synchronization, readers: readers, now)
      }
      state = Mutex(State(connections: connections, notice: notice, checkedAt: now()))
    }

    /// Reads what it needs from the connections; again, where the database was begun anew meanwhile.
    ///
    /// - Throws: with the operation `load`, ``SQLitePersistenceError/setAside(path:as:reason:)`` where that is to be
    ///   told.
    func read<Value>(
      _ operation: SQLitePersistenceError.Operation, at date: Date, _ body: (SQLiteConnections) throws -> Value
    ) throws -> Value {
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

    /// Runs `body` on a reading connection; damage is an error of it like any other, and stays where it is.
    func inspect<Value>(_ body: (Database) throws -> Value) throws -> Value {
      for _ in 0..<4 {
        let (connections, _) = try connections(at: now(), takingNotice: false)
        do {
          return try connections.read(body)
        } catch {
          // It may be opened only now, and the file be another's or gone.
          guard error is DatabaseError, try connections.identity != files.identity() else { throw error }
          try replace(connections, nil)
        }
      }
      throw SQLitePersistenceError.file(path: files.path, code: ENOENT)
    }

    /// Runs `body` in a transaction that is committed, to the file that is at the path, when this returns; again, where
    /// the database was begun anew meanwhile.
    ///
    /// - Parameter waits: whether to wait for other processes.
    func write<Value>(waits: Bool = true, _ body: (Database) throws -> Value) throws -> Value {
      try attempt { try $0.write(waits: waits, body) }
    }

    /// Runs `body` on the writing connection, without a transaction.
    func manage<Value>(_ body: (Database) throws -> Value) throws -> Value { try attempt { try $0.manage(body) } }

    /// The key of the database that is open now: one that was begun anew has another.
    var secretKey: SecretKey? { state.withLock(\.connections).secretKey }

    func takeNotice() -> SQLitePersistenceError? { state.withLock { $0.notice.take() } }

    private func attempt<Value>(_ body: (SQLiteConnections) throws -> Value) throws -> Value {
      var attempts = 0
      while true {
        let connections = state.withLock(\.connections)
        do {
          // Before, so as not to work for nothing; and after: one that was set aside in between holds it alone.
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

  extension SQLiteDatabase {
    private func connections(
      at date: Date, takingNotice: Bool
    ) throws -> (SQLiteConnections, SQLitePersistenceError?) {
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

    /// Returns whether the connections on which `error` was thrown have made way for others, since
    /// their file is another's now, or damaged.
    ///
    /// - Parameter isFirst: whether it is the first try. An error of the disk is told as damage too (SQLite's unix VFS makes
    ///   `EIO` of a read `SQLITE_IOERR_CORRUPTFS`): only what is damaged on new connections as well is set aside.
    private func isReplaced(_ connections: SQLiteConnections, after error: any Error, isFirst: Bool) throws -> Bool {
      guard error is DatabaseError || error is SQLiteDamage else { return false }
      guard try connections.identity == files.identity() else {
        try replace(connections, nil)
        return true
      }
      guard let damage = damage(connections, error) else { return false }
      try replace(connections, isFirst ? nil : damage, reopens: isFirst)
      return true
    }

    private func damage(_ connections: SQLiteConnections, _ error: any Error) -> SQLiteDamage? {
      if let damage = SQLiteDamage(error) { return damage }
      // No statement of this library is wrong with its tables there.
      guard (error as? DatabaseError)?.resultCode == .SQLITE_ERROR else { return nil }
      do {
        return try connections.read(SQLiteSchema.isIntact) ? nil : .foreignSchema
      } catch {
        return SQLiteDamage(error)
      }
    }

    /// Opens what is at the path now; with `damage`, what is there is set aside before that. Another thread or process may
    /// have done either.
    ///
    /// - Parameter reopens: whether to do so also where it is what `old` opened.
    private func replace(_ old: SQLiteConnections, _ damage: SQLiteDamage?, reopens: Bool = false) throws {
      try files.withLock {
        guard state.withLock({ $0.connections === old }) else { return }
        let isSame = try old.identity == files.identity()
        guard !isSame || damage != nil || reopens else { return }
        let (new, notice) = try Self.open(
          files, synchronization, readers: readerCount, settingAside: isSame ? damage : nil, now)
        state.withLock { state in
          state.connections = new
          state.notice = notice ?? state.notice
        }
      }
    }

    /// Opens the database, or makes it; sets aside what is there where it is damaged. The lock is held.
    private static func open(
      _ files: SQLiteFiles, _ synchronization: SQLitePersistence.Synchronization, readers: Int,
      settingAside damage: SQLiteDamage? = nil, _ now: () -> Date
    ) throws -> (SQLiteConnections, SQLitePersistenceError?) {
      var notice = try damage.map { try files.setAside($0, at: now()) }
      var isSuspect = false
      while true {
        do {
          try files.prepare()
          return (try SQLiteConnections(files, synchronization, readers: readers), notice)
        } catch {
          guard notice == nil, let damage = SQLiteDamage(error) else {
            throw SQLitePersistenceError.outward(.open, files.path, error)
          }
          // As above: an error of the disk may look so once.
          if isSuspect { notice = try files.setAside(damage, at: now()) }
          isSuspect = true
        }
      }
    }
  }
#endif
