#if SQLite
  public import Foundation
  import GRDB
  package import HTTPCaching
  public import ReactorCore
  public import ReactorOutbox

  /// An outbox's store in a separate SQLite database, in WAL mode. Several processes may share the
  /// file.
  ///
  /// ```swift
  /// let storage = try SQLiteOutboxStorage(path: "/var/lib/news/outbox.sqlite")
  /// ```
  ///
  /// **A commit** survives a power cut when it returns (`PRAGMA synchronous = FULL`, with
  /// `fullfsync` on Apple platforms). If only its synchronization fails, it throws, but its changes
  /// may be there after the next start.
  ///
  /// **Nothing is evicted.** The database numbers the entries, and no number is used twice.
  ///
  /// **A database that is damaged** is renamed to `outbox.sqlite.damaged` as soon as an access
  /// detects it. Each row that can be read is copied into a new one. Until that succeeds, for
  /// example on a full disk, all calls throw. Afterwards, the file is named
  /// `outbox.sqlite.corrupt-20261121T161500Z`. `OutboxContents.setAside` has the name, and
  /// ``removeAll(in:)`` deletes the file. A database of a newer release is refused and left
  /// unchanged.
  ///
  /// **Forms** are files in the directory `outbox.sqlite-forms`, each until its entry is removed.
  /// Their bytes are not overwritten. A copy that its process has not finished is removed with the
  /// next reading of any scope, and any other form without an entry after seven days: if the
  /// database was removed from outside, a program may have the entry in memory, and saves it again.
  /// While a damaged database is kept, the forms that are not newer stay. ``removeAll(in:)`` also
  /// removes the copies that any process is making.
  ///
  /// **Privacy:** all files are for their owner alone. Deleted bytes are overwritten
  /// (`secure_delete`). On Apple platforms, a database that is created is excluded from backups,
  /// since a restored outbox would send again what was sent.
  ///
  /// Failures of SQLite and the system throw ``SQLitePersistenceError``. If another process holds
  /// the database or its lock, each call waits up to ten seconds, and then throws
  /// `OutboxStorageError.locked`. Calls cannot be cancelled. The asynchronous methods never run on
  /// the caller's executor.
  public final class SQLiteOutboxStorage: OutboxStorage {
    let database: SQLiteDatabase<SQLiteOutboxConnections>
    private let forms: FormDirectory
    let claims = FormClaims()
    private let now: @Sendable () -> Date

    /// Opens the database, or creates it with the directories above it.
    ///
    /// ```swift
    /// let storage = try SQLiteOutboxStorage(path: support.appending(path: "outbox.sqlite").path)
    /// let outbox = OutboxConfiguration(storage: storage, mutations: [AddPost.self])
    /// ```
    ///
    /// The call blocks while it does so. It takes milliseconds, and up to ten seconds if another
    /// process holds the database.
    ///
    /// - Parameter path: The path of the file, which no other store uses. SQLite's `-wal` and
    ///   `-shm` and the store's `-lock` are beside it. Never use a caches directory, which the
    ///   system may empty.
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError.newerFormat`,
    ///   `OutboxStorageError.locked`. A damaged database is set aside and not an error.
    public convenience init(path: String) throws {
      try self.init(path: path, system: SQLiteSystem(), now: { Date() })
    }

    /// - Parameters:
    ///   - files: The calls for files but SQLite's own.
    ///   - now: Returns the time for the names of damaged databases, and forms without an entry.
    package convenience init(path: String, files: FileSystem, now: @escaping @Sendable () -> Date) throws {
      var system = SQLiteSystem()
      system.files = files
      try self.init(path: path, system: system, now: now)
    }

    init(path: String, system: SQLiteSystem, now: @escaping @Sendable () -> Date) throws {
      let files = try SQLiteFiles(path, system: system, keeping: .max, adopts: true)
      let isNew = try files.identity() == nil
      forms = FormDirectory(path: files.path + "-forms", system: system.files, claims: claims)
      self.now = now
      do {
        database = try SQLiteDatabase(files, now: now) { try SQLiteOutboxConnections($0) }
      } catch {
        throw Self.outward(.open, files.path, error)
      }
      if isNew { Self.protect(files.path) }
    }

    /// Returns the entries of `scope` in the order of their numbers, their leases, and the ids from
    /// servers.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`.
    @concurrent public func contents(of scope: Scope) async throws -> OutboxContents {
      try outward(.load) {
        var contents = try database.manage { db in
          // One state of the database for both tables. It needs no lock that a writer holds.
          try SQLiteStatement(db, "BEGIN DEFERRED").run()
          defer { try? db.rollback() }
          return try SQLiteOutboxRows(scope, db).contents()
        }
        let files = database.files
        // An interrupted renaming leaves a `-wal` without its database.
        let setAside = try files.setAside().compactMap { path in
          try files.system.status(path).map { (path: path, changedAt: $0.changedAt) }
        }
        contents.setAside += setAside.map {
          "the database was damaged; every row that could be read was kept, and the damaged file is \($0.path)"
        }
        tidyForms(of: scope, keeping: Set(contents.entries.map(\.id)), unreadable: setAside.map(\.changedAt).max())
        return contents
      }
    }

    /// Returns a Boolean value that indicates whether `scope` has entries between two numbers,
    /// which are drawn over all scopes.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`.
    @concurrent public func mayHaveEntries(in scope: Scope, after: UInt64, before: UInt64) async throws -> Bool {
      try outward(.load) {
        try database.manage { try SQLiteOutboxRows(scope, $0).hasEntries(after: after, before: before) }
      }
    }

    /// Applies `changes` in one transaction.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`.
    @concurrent public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      guard !changes.isEmpty else { return [] }
      let numbers = try outward(.save) {
        var isRepeated = false
        return try database.write { db in
          defer { isRepeated = true }
          try forms.requireForms(of: changes, in: scope)
          return try SQLiteOutboxRows(scope, db).apply(changes, isRepeated: isRepeated)
        }
      }
      for case .remove(let id) in changes { forms.removeForm(of: id, in: scope) }
      return numbers
    }

    /// Leases an entry to a process and returns the entry, in one transaction.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`.
    @concurrent public func claim(
      _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
    ) async throws -> StoredEntry? {
      try outward(.save) {
        try database.write { try SQLiteOutboxRows(scope, $0).claim(id, by: process, now: now, until: until) }
      }
    }

    /// Releases the lease of `process`. Does nothing if it has none.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`.
    @concurrent public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      try outward(.save) { try database.write { try SQLiteOutboxRows(scope, $0).release(id, by: process) } }
    }

    /// Removes everything of `scope`, or of every scope if `scope` is `nil`.
    ///
    /// When the method returns, none of the removed bytes are left in the files, which it rewrites.
    /// Databases that were set aside are deleted, since they hold every scope's entries.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError`. The entries are removed
    ///   nevertheless, unless the database could not be written.
    @concurrent public func removeAll(in scope: Scope?) async throws {
      try remove(scope, keeping: { [] }) { try SQLiteOutboxRows.removeAll(in: scope, $0) }
    }

    /// Removes everything of `scope` but some entries, overwrites the deleted bytes, and removes
    /// databases that were set aside.
    ///
    /// - Throws: ``SQLitePersistenceError``, `OutboxStorageError.locked`.
    @concurrent public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
      try await removeAll(in: scope, keeping: ids) { [] }
    }

    /// - Parameter copies: Returns the entries whose copies stay, though they are not added yet.
    private func remove(
      _ scope: Scope?, keeping copies: () -> Set<UUID>, _ body: @Sendable (Database) throws -> Void
    ) throws {
      try outward(.remove) {
        try database.access { access in
          try access.write(body)
          var failure: (any Error)?
          do {
            if try forms.isThere { failure = try access.write { try removeForms(of: scope, keeping: copies, $0) } }
          } catch { failure = error }
          // Before the compaction, which fails on a full disk or while another process reads.
          try access.removeSetAside()
          try access.manage(SQLitePersistence.compact)
          if let failure { throw failure }
        }
      }
    }
  }

  extension SQLiteOutboxStorage: FormStorage {
    @concurrent package func keep(
      _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
    ) async throws -> KeptForm {
      try await FileCopies.shared.run { [forms, database] isCancelled in
        let copy = try database.beginCopy()
        return try forms.keep(form, for: id, in: scope, unless: isUnwanted, locking: copy.lock) {
          try isCancelled()
          try copy.check()
        }
      }
    }

    @concurrent package func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
      try forms.form(of: id, in: scope, contentType: contentType)
    }

    @concurrent package func removeAll(
      in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
    ) async throws {
      try remove(scope, keeping: copies) { try SQLiteOutboxRows.removeAll(in: scope, keeping: ids, $0) }
    }

    /// Tidies the forms in a transaction, so that no process adds an entry meanwhile. If that
    /// fails, a later reading does so.
    private func tidyForms(of scope: Scope, keeping ids: Set<UUID>, unreadable: Date?) {
      let now = now()
      guard let isTidy = try? forms.isTidy(scope, .init(ids, unreadable: unreadable), at: now), !isTidy else { return }
      _ = try? database.write(waits: false) { db in
        try forms.tidy(scope, .init(try SQLiteOutboxRows.ids(db), unreadable: unreadable), at: now)
      }
    }

    /// Removes the forms without an entry, in a transaction, so that no process adds one meanwhile.
    private func removeForms(
      of scope: Scope?, keeping copies: () -> Set<UUID>, _ db: Database
    ) throws -> FilePersistence.Failure? {
      let ids = try SQLiteOutboxRows.ids(db)
      return try forms.removeForms(of: scope) { ids.union(copies()) }
    }
  }

  extension SQLiteOutboxStorage {
    private func outward<Value>(
      _ operation: SQLitePersistenceError.Operation, _ body: () throws -> Value
    ) throws -> Value {
      do {
        return try body()
      } catch {
        throw Self.outward(operation, database.files.path, error)
      }
    }

    private static func outward(
      _ operation: SQLitePersistenceError.Operation, _ path: String, _ error: any Error
    ) -> any Error {
      switch error {
      case SQLitePersistenceError.file(let path, code: EWOULDBLOCK): OutboxStorageError.locked(path: path)
      case let error as DatabaseError where error.resultCode == .SQLITE_BUSY: OutboxStorageError.locked(path: path)
      default: SQLitePersistenceError.outward(operation, path, error)
      }
    }

    /// Excludes the files from backups, and lets them be read after the first unlock. SQLite
    /// creates `-wal` and `-shm` with the protection of the database.
    private static func protect(_ path: String) {
      #if canImport(Darwin)
        for suffix in SQLiteFiles.suffixes {
          var url = URL(filePath: path + suffix, directoryHint: .notDirectory)
          var values = URLResourceValues()
          values.isExcludedFromBackup = true
          try? url.setResourceValues(values)
          #if !os(macOS)
            try? FileManager.default.setAttributes(
              [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path + suffix)
          #endif
        }
      #endif
    }
  }
#endif
