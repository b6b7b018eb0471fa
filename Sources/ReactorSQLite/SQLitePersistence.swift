#if SQLite
  import Foundation
  import GRDB
  public import HTTPCaching

  /// Records in an SQLite database, in WAL mode; several processes may share the file.
  ///
  /// ```swift
  /// let persistence = try SQLitePersistence(path: "/var/cache/news/records.sqlite")
  /// ```
  ///
  /// **Saves** that arrive together share a transaction. Each returns when that is committed: whole or not there,
  /// whatever ends the process, and where one of them fails, the others do not.
  ///
  /// **The limit** counts the records' bytes. The files take more: 0.2 to 0.3 KB for each record's keys, what is left
  /// free of pages of 4 KiB, the space of evicted records, which later ones reuse, and `-wal`: 4 MiB, or as much as the
  /// largest batch of saves wrote. With records of 1 KB, the files stay under twice the limit and 8 MiB (200,000 saves
  /// under 50 MiB: 92 MiB); larger records take less.
  ///
  /// **A record that cannot be read** throws `RecordError` from `load`, harms no other, and stays until
  /// something is saved under its key. **A database that cannot be used** (it is damaged, no database at all, or a
  /// newer release's) is renamed, `records.sqlite` to `records.sqlite.corrupt-20261121T161500Z`, whenever that is
  /// found; the store begins anew, the next `load` says so once (``SQLitePersistenceError/setAside(path:as:reason:)``),
  /// and a save goes on. The two newest of those are kept. Files that somebody removes are an empty store: a write sees
  /// that at once, a load within a second.
  ///
  /// **Privacy.** All files are for their owner alone. What is deleted is overwritten (`secure_delete`); after
  /// `removeAll`, no byte of what it removed is left in any of the files, those that were set aside included.
  ///
  /// What SQLite or the system refuses throws ``SQLitePersistenceError``. For another process that holds the database, or its
  /// lock, each call waits up to ten seconds.
  /// Cancellation stops `entries` and `verify` alone. No method works on the caller's executor.
  public final class SQLitePersistence: Persistence {
    /// What an acknowledged save survives.
    public enum Synchronization: Sendable, Hashable {
      /// The end of the process at any instruction (`PRAGMA synchronous = NORMAL`). A power cut may take the latest
      /// saves, and corrupts nothing.
      case normal
      /// A power cut too (`FULL`, on Apple platforms with `fullfsync`): each transaction is synchronised before its saves
      /// return, which takes milliseconds. Where only that fails, the save throws, and yet the new record may be there after the
      /// next start: the log holds it already, and no call that would take it back could be synchronised.
      case full
    }

    let database: SQLiteDatabase
    private let writer: SQLiteWriter
    let writes: SQLiteWriteQueue<SQLiteWriter.Operation>
    private let limit: Int
    private let now: @Sendable () -> Date

    /// Opens the database, or makes it, with the directories above it.
    ///
    /// It blocks while it does so: milliseconds, however many records there are, and up to ten seconds where another
    /// process holds the database.
    ///
    /// - Parameters:
    ///   - path: the file. Beside it are `-wal` and `-shm`, which are SQLite's, and `-lock`.
    ///   - limit: bytes that all records may take. Beyond it, those that are long stale and unused are removed first,
    ///     then the least recently used, down to seven eighths, with the saves that follow. A record's use is noted
    ///     once a minute at most. A record that alone is larger is not saved. Default: 256 MiB.
    ///   - countLimit: the same for the count of records. Default: 100,000.
    ///   - synchronization: what an acknowledged save survives. Default: ``Synchronization/normal``.
    public convenience init(
      path: String, limit: Int = 256 << 20, countLimit: Int = 100_000, synchronization: Synchronization = .normal
    ) throws(SQLitePersistenceError) {
      try self.init(
        path: path, limit: limit, countLimit: countLimit, synchronization: synchronization, readers: 2, now: { Date() })
    }

    /// - Parameter readers: how many loads run at once; more wait.
    init(
      path: String, limit: Int = 256 << 20, countLimit: Int = 100_000, synchronization: Synchronization = .normal,
      readers: Int = 2, system: SQLiteSystem = SQLiteSystem(), now: @escaping @Sendable () -> Date
    ) throws(SQLitePersistenceError) {
      let files = try SQLiteFiles(path, system: system)
      do {
        database = try SQLiteDatabase(files, synchronization, readers: max(1, readers), now: now)
      } catch let error as SQLitePersistenceError {
        throw error
      } catch {
        throw .sqlite(.open, path: files.path, code: 1, message: "\(error)")
      }
      let writer = SQLiteWriter(database, SQLiteEviction(bytes: limit, count: countLimit), now: now)
      self.writer = writer
      // 256 small operations at most, or 4 MiB.
      writes = SQLiteWriteQueue(limit: 4 << 20, weight: { max(16 << 10, $0.size) }, perform: { writer.perform($0) })
      self.limit = max(0, limit)
      self.now = now
    }

    /// - Throws: `RecordError`, ``SQLitePersistenceError``.
    @concurrent public func load(_ key: RecordKey) async throws -> HTTPCaching.Record? {
      let date = now()
      let stored = try outward(.load) { try database.read(.load, at: date) { try $0.load(key.digest) } }
      guard let stored else { return nil }
      let record = try stored.record()
      guard record.belongs(to: key) else { return nil }
      if writer.times.note(key.digest, known: stored.usedAt, now: date) {
        writes.runIfIdle(SQLiteWriter.Operation(kind: .load, waits: false) { _ in })
      }
      return record
    }

    /// - Throws: `RecordError/wrongKey`, ``SQLitePersistenceError``.
    @concurrent public func save(_ record: HTTPCaching.Record, for key: RecordKey) async throws {
      guard record.belongs(to: key) else { throw RecordError.wrongKey }
      let change = SQLiteRows.Change(record, for: key, at: now())
      guard change.size <= limit else { throw SQLitePersistenceError.tooLarge(size: change.size, limit: limit) }
      try await writes.run(
        SQLiteWriter.Operation(kind: .save, added: 1, size: change.size) { try SQLiteRows.save(change, $0) })
    }

    /// - Throws: ``SQLitePersistenceError``.
    @concurrent public func remove(_ key: RecordKey) async throws {
      try await writes.run(SQLiteWriter.Operation(kind: .remove) { try SQLiteRows.remove(key.digest, $0) })
    }

    /// When it returns, none of the bytes is left in the files. So it writes the file anew, as ``compact()`` does:
    /// deleting alone leaves copies behind, wherever SQLite has moved a row from one page to another. Where it throws,
    /// the records are removed all the same, unless the database could not be written.
    ///
    /// - Throws: ``SQLitePersistenceError``.
    @concurrent public func removeAll(in scope: Scope?) async throws {
      try await writes.run(SQLiteWriter.Operation(kind: .remove) { try SQLiteRows.removeAll(in: scope, $0) })
      try outward(.remove) {
        try database.manage(Self.compact)
        try database.files.withLock { try database.files.removeSetAside() }
      }
    }

    /// Reads heads alone. A record whose head cannot be read is left out.
    ///
    /// - Throws: ``SQLitePersistenceError``, `CancellationError`.
    @concurrent public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] {
      try outward(.list) {
        try database.read(.list, at: now()) { connections in
          try connections.read { try SQLiteRows.entries(in: scope, url: url, $0) }
        }
      }
    }

    /// Returns the key in a table of the database, made with it and read when it was opened.
    public func secretKey() -> SecretKey? { database.secretKey }

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
