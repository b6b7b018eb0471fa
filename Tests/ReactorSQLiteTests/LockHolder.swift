#if SQLite
  import GRDB

  /// Another program that is in the midst of a transaction.
  final class LockHolder {
    private let queue: DatabaseQueue

    init(_ path: String) throws {
      var configuration = Configuration()
      configuration.allowsUnsafeTransactions = true
      queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
    }

    func release() throws { try queue.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") } }
  }
#endif
