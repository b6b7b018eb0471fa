public import Foundation
package import HTTPCaching
public import ReactorCore
import Synchronization

/// A store with a journal for each scope, in a directory that several processes may share.
///
/// ```swift
/// let storage = FileOutboxStorage(
///   directory: .applicationSupportDirectory.appending(path: "com.example.news/outbox"))
/// ```
///
/// A commit appends to the journal of its scope, and returns after file and directory are
/// synchronized. If that fails, the commit is cut off again, and earlier entries are unchanged. A
/// journal that consists mostly of removed or replaced entries is written again.
///
/// **A commit that was not finished**, because the process exited or the power failed, is ignored
/// and overwritten. **A damaged journal** is kept under another name, with `.damaged-` and the
/// time. Every entry that can be read stays in the store, and ``OutboxContents/setAside`` names the
/// file.
///
/// **A form** is a file of its own beside the journal, until its entry is removed. A copy that its
/// process has not finished is removed with the next reading of any scope, and any other form
/// without an entry after seven days: if the journal was removed from outside, a program may have
/// the entry in memory, and saves it again. While a damaged journal is kept, the forms that are not
/// newer stay. ``removeAll(in:)`` also removes the copies that any process is making.
///
/// **Several processes** take turns, with a lock that ends with its process. If another process
/// holds the lock, a call waits up to ten seconds and then throws
/// ``OutboxStorageError/locked(path:)``. An app that shares the directory with an extension should
/// finish its calls before it is suspended: iOS terminates an app that is suspended with a lock.
///
/// **Privacy:** only the owner may read and write the files. On Apple platforms, the directory is
/// excluded from backups when it is created, since a restored outbox would send again what was
/// sent. Never use a caches directory, which the system may empty.
///
/// Creating the object does no I/O. Reading a directory that does not exist creates nothing. Failed
/// system calls throw `FilePersistence.Failure`. Calls cannot be cancelled, and never run on the
/// caller's executor.
public final class FileOutboxStorage: OutboxStorage {
  private let url: URL
  private let system: FileSystem
  private let lockWait: Duration
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  private let claims: FormClaims
  /// Guards the files too: an object performs one call at a time.
  private let state = Mutex(State())
  /// The time between two attempts to lock. No system call waits for a lock with a time limit.
  static let lockInterval: Duration = .milliseconds(5)

  /// Creates a store in a directory.
  ///
  /// - Parameter directory: A file URL. The first commit creates the directory and its parents.
  public convenience init(directory: URL) { self.init(directory: directory, system: FileSystem()) }

  /// - Parameters:
  ///   - lockWait: The time to wait for another process.
  ///   - clock: The clock of that wait.
  ///   - claims: The copies whose entries are about to be added.
  ///   - now: Returns the time for the names of damaged journals.
  package init(
    directory: URL, system: FileSystem, lockWait: Duration = .seconds(10),
    clock: any Clock<Duration> = ContinuousClock(), claims: FormClaims = FormClaims(),
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    url = directory
    self.system = system
    self.lockWait = lockWait
    self.clock = clock
    self.claims = claims
    self.now = now
  }

  private struct State {
    var journals: [Scope: JournalFile] = [:]
    var identity = DirectoryIdentity()
  }

  /// Returns the entries of `scope` in the order of their numbers, their leases, and the ids from
  /// servers.
  ///
  /// - Throws: ``OutboxStorageError``, `FilePersistence.Failure`.
  @concurrent public func contents(of scope: Scope) async throws -> OutboxContents {
    let contents = try await withJournal(of: scope, creates: false) { [now] journal, directory, identity in
      var contents = journal.table.contents
      contents.identity = identity
      let setAside = try directory.setAside(of: scope)
      contents.setAside = setAside.map {
        "the journal was damaged; everything that could be read was kept, and the damaged file is \($0)"
      }
      // An entry that cannot be read may have a form.
      let unreadable = try setAside.compactMap { try directory.system.inspect($0)?.changedAt }.max()
      try directory.forms.tidy(scope, .init(Set(contents.entries.map(\.id)), unreadable: unreadable), at: now())
      return contents
    }
    return contents ?? OutboxContents(identity: state.withLock { $0.identity.next() })
  }

  /// Applies `changes` in order, all or none.
  ///
  /// - Throws: ``OutboxStorageError``, `FilePersistence.Failure`.
  @concurrent public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    let numbers = try await withJournal(of: scope, creates: !changes.isEmpty) { journal, directory, _ in
      let (steps, numbers) = try journal.table.steps(for: changes)
      try directory.forms.requireForms(of: changes, in: scope)
      try journal.append(steps)
      for case .remove(let id) in changes { directory.forms.removeForm(of: id, in: scope) }
      return numbers
    }
    return numbers ?? []
  }

  /// Leases an entry to a process, and returns the entry as it is on the disk. The lease is saved
  /// as a commit is.
  ///
  /// - Throws: ``OutboxStorageError``, `FilePersistence.Failure`.
  @concurrent public func claim(
    _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
  ) async throws -> StoredEntry? {
    let entry = try await withJournal(of: scope, creates: false) { journal, _, _ -> StoredEntry? in
      guard let claim = journal.table.claim(id, by: process, now: now, until: until) else { return nil }
      try journal.append([claim.step])
      return claim.entry
    }
    return entry ?? nil
  }

  /// Releases the lease of `process`. Does nothing if it has none.
  ///
  /// - Throws: ``OutboxStorageError``, `FilePersistence.Failure`.
  @concurrent public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    _ = try await withJournal(of: scope, creates: false) { journal, _, _ in
      if let step = journal.table.release(id, by: process) { try journal.append([step]) }
    }
  }

  /// Removes everything of `scope`, or of every scope if `scope` is `nil`, including journals that
  /// were set aside or written by a newer release.
  ///
  /// - Throws: ``OutboxStorageError/locked(path:)``; the first `FilePersistence.Failure`, after
  ///   removing everything that can be removed.
  @concurrent public func removeAll(in scope: Scope?) async throws { try await removeAll(in: scope) { [] } }

  private func removeAll(in scope: Scope?, keeping copies: @escaping @Sendable () -> Set<UUID>) async throws {
    _ = try await whileLocked(creates: false) { state, directory, _ in
      if let scope { state.journals[scope] = nil } else { state.journals.removeAll() }
      try directory.removeAll(in: scope, keeping: copies)
    }
  }

  /// Removes everything of `scope` but some entries, by a journal that replaces the old one.
  ///
  /// - Throws: ``OutboxStorageError``, `FilePersistence.Failure`.
  @concurrent public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    try await removeAll(in: scope, keeping: ids) { [] }
  }
}

extension FileOutboxStorage: FormStorage {
  @concurrent package func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm {
    let forms = try directory.forms
    return try await FileCopies.shared.run {
      try forms.keep(form, for: id, in: scope, unless: isUnwanted, check: $0)
    }
  }

  @concurrent package func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    try directory.forms.form(of: id, in: scope, contentType: contentType)
  }

  @concurrent package func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws {
    guard !ids.isEmpty else { return try await removeAll(in: scope, keeping: copies) }
    _ = try await withJournal(of: scope, creates: false) { journal, directory, _ in
      try journal.keep(ids)
      let failure = try directory.forms.removeForms(of: scope) { ids.union(copies()) }
      try directory.removeSetAside(of: scope)
      if let failure { throw failure }
    }
  }
}

extension FileOutboxStorage {
  private var directory: OutboxDirectory {
    get throws(FilePersistence.Failure) { try OutboxDirectory(url, system, claims) }
  }

  /// Runs `body` with the journal of a scope, as it is on the disk, and the store's identity.
  ///
  /// - Returns: `nil` if there is no directory.
  private func withJournal<Value: Sendable>(
    of scope: Scope, creates: Bool, _ body: @Sendable (inout JournalFile, OutboxDirectory, UUID) throws -> Value
  ) async throws -> Value? {
    try await whileLocked(creates: creates) { [now] state, directory, lock in
      var journal = state.journals[scope] ?? JournalFile(directory, of: scope, now: now)
      // Taken out, so that its table is not copied when it changes.
      state.journals[scope] = nil
      defer { state.journals[scope] = journal }
      try journal.load()
      // A read writes no identity, so that it works on a full disk.
      return try body(&journal, directory, try state.identity.find(in: lock, journal, writes: creates))
    }
  }

  private func whileLocked<Value: Sendable>(
    creates: Bool, _ body: @Sendable (inout State, OutboxDirectory, borrowing OpenFile) throws -> Value
  ) async throws -> Value? {
    let directory = try directory
    var waited: Duration = .zero
    while true {
      let attempt = try state.withLock { state in
        try directory.whileLocked(creates: creates) { try body(&state, directory, $0) }
      }
      switch attempt {
      case .done(let value): return value
      case .absent: return nil
      case .taken:
        guard waited < lockWait else { throw OutboxStorageError.locked(path: directory.lockPath) }
        waited += Self.lockInterval
        await pause()
      }
    }
  }

  /// Also waits if the caller is cancelled.
  private func pause() async {
    await Task { [clock] in try? await clock.sleep(for: Self.lockInterval) }.value
  }
}
