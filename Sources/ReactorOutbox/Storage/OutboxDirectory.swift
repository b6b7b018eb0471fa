import Foundation
import HTTPCaching

/// The names in the directory of a ``FileOutboxStorage``, and its lock.
///
/// A scope's journal is `<scope>.journal`, where `<scope>` is the SHA-256 of the scope's name. A
/// journal that is being written is `<scope>.journal.new`. A damaged one that was set aside is
/// `<scope>.journal.damaged-<time>`. ``FormDirectory`` has the names of forms. Every process locks
/// `lock` while it reads or writes. That file has the store's identity, and stays when everything
/// is removed.
struct OutboxDirectory: Sendable {
  let path: String
  let system: FileSystem
  /// The forms beside the journals.
  let forms: FormDirectory

  /// - Throws: `FilePersistence.Failure` if the URL is not a directory's on this machine.
  init(_ directory: URL, _ system: FileSystem, _ claims: FormClaims) throws(FilePersistence.Failure) {
    guard let path = FileSystem.path(of: directory) else {
      throw FilePersistence.Failure(operation: .open, path: "the outbox's directory", code: FileSystem.isInvalid)
    }
    self.path = path
    self.system = system
    forms = FormDirectory(path: path, system: system, claims: claims)
  }

  var lockPath: String { "\(path)/lock" }

  func journal(of scope: Scope) -> String { "\(path)/\(SHA256Digest.hex(Array(scope.name.utf8)))\(Self.suffix)" }

  /// The result of an attempt to work under the lock.
  enum Attempt<Value> {
    case done(Value)
    /// Another process, or another instance of the store, holds the lock.
    case taken
    /// There is no directory.
    case absent
  }

  /// Runs `body` under the lock, if that is free.
  ///
  /// - Parameters:
  ///   - creates: A Boolean value that indicates whether to create the directory.
  ///   - body: Gets the file of the lock.
  func whileLocked<Value>(
    creates: Bool, _ body: (borrowing OpenFile) throws -> Value
  ) throws -> Attempt<Value> {
    // The file may be removed while another process creates and locks a new one, but not
    // repeatedly.
    for _ in 0..<8 {
      guard let file = try system.open(lockPath, writes: true) else {
        guard try makeLock(creates: creates) else { return .absent }
        continue
      }
      guard try file.lock() else { return .taken }
      guard try system.inspect(lockPath)?.identity == file.status().identity else { continue }
      // Closing the file releases the lock.
      return .done(try body(file))
    }
    throw FilePersistence.Failure(operation: .lock, path: lockPath, code: FileSystem.isAbsent)
  }

  /// Creates the file of the lock, with the directory if `creates` is `true`.
  ///
  /// - Returns: `false` if there is no directory.
  private func makeLock(creates: Bool) throws(FilePersistence.Failure) -> Bool {
    if try system.inspect(path, followsLink: true) == nil {
      guard creates else { return false }
      try system.makeDirectory(path, synchronizes: true)
      FormDirectory.protect(path)
    }
    do {
      _ = try system.create(lockPath)
    } catch {
      guard error.code == FileSystem.exists || error.code == FileSystem.isAbsent else { throw error }
    }
    return true
  }
}

extension OutboxDirectory {
  private static let suffix = ".journal"
  private static let damaged = ".damaged-"

  static func temporary(of journal: String) -> String { "\(journal).new" }

  /// Returns an unused name for a damaged journal.
  func freeName(of journal: String, at date: Date) throws(FilePersistence.Failure) -> String {
    let time = date.formatted(.iso8601.dateSeparator(.omitted).timeSeparator(.omitted))
    var (name, count) = ("\(journal)\(Self.damaged)\(time)", 1)
    while try system.inspect(name) != nil {
      count += 1
      name = "\(journal)\(Self.damaged)\(time)-\(count)"
    }
    return name
  }

  /// Returns the paths of the journals of `scope` that were set aside.
  func setAside(of scope: Scope) throws(FilePersistence.Failure) -> [String] {
    let prefix = journal(of: scope).dropFirst(path.count + 1) + Self.damaged
    return try system.list(path, prefix: String(prefix)).sorted().map { "\(path)/\($0)" }
  }

  /// Removes the journals of `scope` that were set aside.
  func removeSetAside(of scope: Scope) throws(FilePersistence.Failure) {
    for path in try setAside(of: scope) { try system.remove(path) }
    try system.synchronizeDirectory(path)
  }

  /// Removes every file of `scope`, or of every scope if `scope` is `nil`, but the copies of some
  /// forms. The lock stays.
  ///
  /// - Parameter copies: Returns the entries whose copies stay.
  /// - Throws: The first `FilePersistence.Failure`, after removing everything that can be removed.
  func removeAll(in scope: Scope?, keeping copies: () -> Set<UUID>) throws(FilePersistence.Failure) {
    let own = scope.map { String(journal(of: $0).dropFirst(path.count + 1)) }
    var failure = try forms.removeForms(of: scope, keeping: copies)
    for name in try system.list(path, prefix: own ?? "").sorted() where Self.isOurs(name) {
      do throws(FilePersistence.Failure) {
        try system.remove("\(path)/\(name)")
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    try system.synchronizeDirectory(path)
  }

  private static func isOurs(_ name: String) -> Bool {
    let digits = name.utf8.prefix(64)
    let rest = name.dropFirst(64)
    let isDigest = digits.count == 64 && digits.allSatisfy { "0123456789abcdef".utf8.contains($0) }
    return isDigest && (rest == suffix || rest == temporary(of: suffix) || rest.hasPrefix(suffix + damaged))
  }
}
