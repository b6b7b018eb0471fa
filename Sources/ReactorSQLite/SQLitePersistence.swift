#if SQLite
  import Foundation
  import GRDB
  public import HTTPCaching

  /// A store in an SQLite database in WAL mode. Several processes may share the file.
  ///
  /// ```swift
  /// let persistence = try SQLitePersistence(path: "/var/cache/news/records.sqlite")
  /// ```
  ///
  /// **Saves** that arrive together share a transaction, and each returns after the commit. If the
  /// process exits, a record is stored whole or not at all. If one save fails, the others do not.
  ///
  /// **The limit** counts the bytes of the records. The files are larger: each record's keys take
  /// 0.2 to 0.3 KB, pages of 4 KiB have free space, and later records reuse the space of evicted
  /// ones. `-wal` takes 4 MiB, or as much as the largest batch of saves wrote. With records of 1
  /// KB, the files stay under twice the limit plus 8 MiB: 92 MiB after 200,000 saves with a limit
  /// of 50 MiB. Larger records need less.
  ///
  /// **A record that cannot be read** makes ``load(_:)`` throw `Record.Failure`. It affects no
  /// other record, and stays until something is saved under its key.
  ///
  /// **A database that cannot be used** is renamed, from `records.sqlite` to
  /// `records.sqlite.corrupt-20261121T161500Z`, as soon as an access detects it. Such a database is
  /// damaged, not a database at all, or of a newer release. The store starts again empty. The next
  /// ``load(_:)`` throws ``SQLitePersistenceError/setAside(path:as:reason:)`` once, and saves
  /// succeed. The two newest of these files are kept.
  ///
  /// **On a read-only disk**, records can be read if the database was closed before. Changes throw
  /// ``SQLitePersistenceError/sqlite(_:path:code:message:)``.
  ///
  /// **If the files are deleted**, the store is empty. A write notices at once, a load within a
  /// second.
  ///
  /// **Privacy:** only the owner may read and write the files. Deleted bytes are overwritten
  /// (`secure_delete`). After ``removeAll(in:)``, none of the removed bytes are left in any file,
  /// nor in the databases that were set aside.
  ///
  /// Failures of SQLite and the system throw ``SQLitePersistenceError``. If another process holds
  /// the database or its lock, each call waits up to ten seconds. Cancellation stops only
  /// ``entries(in:url:)`` and ``verify()``. The asynchronous methods never run on the caller's
  /// executor.
  public final class SQLitePersistence: Persistence {
    /// The events that a completed save survives.
    public enum Synchronization: Sendable, Hashable {
      /// The end of the process at any instruction (`PRAGMA synchronous = NORMAL`). A power cut may
      /// lose the latest saves, but corrupts nothing.
      case normal
      /// A power cut as well (`FULL`, with `fullfsync` on Apple platforms). Each transaction is
      /// synchronized before its saves return, which takes milliseconds.
      ///
      /// If only the synchronization fails, the save throws, but the new record may exist after the
      /// next start. The log already holds it, and a call that removed it could not be synchronized
      /// either.
      case full
    }

    let database: SQLiteDatabase<SQLiteConnections>
    private let writer: SQLiteWriter
    let writes: SQLiteWriteQueue<SQLiteWriter.Operation>
    private let limit: Int
    /// A Boolean value that indicates whether uses of records cannot be noted.
    private let isReadOnly: Bool
    private let now: @Sendable () -> Date

    /// Opens the database, or creates it with the directories above it.
    ///
    /// ```swift
    /// let persistence = try SQLitePersistence(
    ///   path: "/var/cache/news/records.sqlite", limit: 64 << 20, synchronization: .full)
    /// ```
    ///
    /// The call blocks while it does so. It takes milliseconds, however many records there are, and
    /// up to ten seconds if another process holds the database.
    ///
    /// - Parameters:
    ///   - path: The path of the file. SQLite's `-wal` and `-shm` and the store's `-lock` are
    ///     beside it.
    ///   - limit: The bytes that all records may take. Above the limit, later saves remove records,
    ///     down to seven eighths of it: first long stale, unused records, then the least recently
    ///     used. A record's use is noted at most once a minute. A record that is larger than the
    ///     limit is not saved. Default: 256 MiB.
    ///   - countLimit: The number of records, limited in the same way. Default: 100,000.
    ///   - synchronization: The events that a completed save survives. Default:
    ///     ``Synchronization/normal``.
    /// - Throws: ``SQLitePersistenceError/invalidPath(_:)``,
    ///   ``SQLitePersistenceError/foreign(path:)``, ``SQLitePersistenceError/file(path:code:)`` or
    ///   ``SQLitePersistenceError/sqlite(_:path:code:message:)``. An unusable database is set aside
    ///   and not an error here.
    public convenience init(
      path: String, limit: Int = 256 << 20, countLimit: Int = 100_000, synchronization: Synchronization = .normal
    ) throws(SQLitePersistenceError) {
      try self.init(
        path: path, limit: limit, countLimit: countLimit, synchronization: synchronization, readers: 2, now: { Date() })
    }

    /// - Parameter readers: The number of loads that run at once. Further loads wait.
    init(
      path: String, limit: Int = 256 << 20, countLimit: Int = 100_000, synchronization: Synchronization = .normal,
      readers: Int = 2, system: SQLiteSystem = SQLiteSystem(), now: @escaping @Sendable () -> Date
    ) throws(SQLitePersistenceError) {
      let files = try SQLiteFiles(path, system: system)
      do {
        database = try SQLiteDatabase(
          files, now: now, readOnly: { try SQLiteConnections(readOnly: $0, readers: readers) },
          opening: { try SQLiteConnections($0, synchronization, readers: readers) })
      } catch let error as SQLitePersistenceError {
        throw error
      } catch {
        throw .sqlite(.open, path: files.path, code: 1, message: "\(error)")
      }
      let writer = SQLiteWriter(database, SQLiteEviction(bytes: limit, count: countLimit), now: now)
      self.writer = writer
      // At most 256 small operations, or 4 MiB.
      writes = SQLiteWriteQueue(limit: 4 << 20, weight: { max(16 << 10, $0.size) }, perform: { writer.perform($0) })
      self.limit = max(0, limit)
      self.now = now
      isReadOnly = database.isReadOnly
    }

    /// Returns the record that was last saved under `key`, or `nil` if nothing is stored.
    ///
    /// - Throws: `Record.Failure` for a record that cannot be read; ``SQLitePersistenceError``.
    @concurrent public func load(_ key: RecordKey) async throws -> HTTPCaching.Record? {
      let date = now()
      let stored = try outward(.load) { try database.read(.load, at: date) { try $0.load(key.digest) } }
      guard let stored else { return nil }
      let record = try stored.record()
      guard record.belongs(to: key) else { return nil }
      if !isReadOnly, writer.times.note(key.digest, known: stored.usedAt, now: date) {
        writes.runIfIdle(SQLiteWriter.Operation(kind: .load, waits: false) { _ in })
      }
      return record
    }

    /// Saves `record` in place of an earlier one, and evicts others above the limit.
    ///
    /// - Throws: `Record.Failure.wrongKey`; ``SQLitePersistenceError``, also for a record larger
    ///   than the limit.
    @concurrent public func save(_ record: HTTPCaching.Record, for key: RecordKey) async throws {
      guard record.belongs(to: key) else { throw HTTPCaching.Record.Failure.wrongKey }
      let change = SQLiteRows.Change(record, for: key, at: now())
      guard change.size <= limit else { throw SQLitePersistenceError.tooLarge(size: change.size, limit: limit) }
      try await writes.run(
        SQLiteWriter.Operation(kind: .save, added: 1, size: change.size) { try SQLiteRows.save(change, $0) })
    }

    /// Removes the record of `key`. Does nothing if nothing is stored.
    ///
    /// - Throws: ``SQLitePersistenceError``.
    @concurrent public func remove(_ key: RecordKey) async throws {
      try await writes.run(SQLiteWriter.Operation(kind: .remove) { try SQLiteRows.remove(key.digest, $0) })
    }

    /// Removes every record of `scope`, or of every scope if `scope` is `nil`.
    ///
    /// When the method returns, none of the removed bytes are left in the files. To that end, it
    /// rewrites the file as ``compact()`` does. A mere deletion leaves copies behind where SQLite
    /// has moved a row between pages. Databases that were set aside are deleted.
    ///
    /// All of it is one access: ``suspend()`` waits for its end or refuses it whole.
    ///
    /// - Throws: ``SQLitePersistenceError``. The records are removed nevertheless, unless the
    ///   database could not be written.
    @concurrent public func removeAll(in scope: Scope?) async throws {
      try await writes.run(
        SQLiteWriter.Operation(
          kind: .remove,
          finish: { access in
            // Before the compaction, which fails on a full disk or while another process reads.
            try access.removeSetAside()
            try access.manage(Self.compact)
          }, body: { try SQLiteRows.removeAll(in: scope, $0) }))
    }

    /// Returns the stored records, except records whose heads cannot be read. The method reads only
    /// heads.
    ///
    /// - Throws: ``SQLitePersistenceError``, `CancellationError`.
    @concurrent public func entries(in scope: Scope?, url: String?) async throws -> [HTTPCaching.Record.Entry] {
      try outward(.list) {
        try database.read(.list, at: now()) { connections in
          try connections.read { try SQLiteRows.entries(in: scope, url: url, $0) }
        }
      }
    }

    /// Returns the key in a table of the database. It was read when the database was opened, so the
    /// method does no I/O.
    public func secretKey() -> RecordKey.SecretKey? { database.secretKey }

    func outward<Value>(
      _ operation: SQLitePersistenceError.Operation, _ body: () throws -> Value
    ) throws -> Value {
      do {
        return try body()
      } catch {
        throw SQLitePersistenceError.outward(operation, database.files.path, error)
      }
    }
  }
#endif
