#if SQLite
  import Foundation
  import GRDB

  /// Another program that is in the midst of a transaction.
  final class LockHolder {
    private let queue: DatabaseQueue

    /// - Parameter isExclusive: whether readers are locked out too.
    convenience init(_ path: String, isExclusive: Bool = false) throws {
      try self.init(
        path, mode: isExclusive ? "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE")
    }

    /// - Parameter mode: The statements that begin the transaction.
    init(_ path: String, mode: String) throws {
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.writeWithoutTransaction { try $0.execute(sql: mode) }
    }

    func release() throws { try queue.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") } }

    func close() throws { try queue.close() }
  }

  /// Another program that opens the database, or sets it aside, and is stuck.
  final class OpeningHolder: Sendable {
    private let descriptor: Int32

    init?(_ path: String) {
      descriptor = Foundation.open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
    }

    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
  }
#endif
