#if SQLite
  import Foundation
  import GRDB
  import Synchronization

  /// Writes batches of changes, each in one transaction, and evicts records afterwards.
  final class SQLiteWriter: Sendable {
    struct Operation: Sendable {
      var kind: SQLitePersistenceError.Operation
      /// The greatest number of records that the operation adds.
      var added = 0
      var size = 0
      /// A Boolean value that indicates whether the operation waits for other processes.
      var waits = true
      /// Runs after the transaction, in the same access. Its error is that of the operation.
      var finish: (@Sendable (Access) throws -> Void)?
      var body: @Sendable (Database) throws -> Void
    }

    typealias Access = SQLiteDatabase<SQLiteConnections>.Access

    let times = SQLiteAccessTimes()
    private let database: SQLiteDatabase<SQLiteConnections>
    private let now: @Sendable () -> Date
    /// Only ``perform(_:)`` uses it, for one batch at a time.
    private let eviction: Mutex<SQLiteEviction>

    init(
      _ database: SQLiteDatabase<SQLiteConnections>, _ eviction: SQLiteEviction, now: @escaping @Sendable () -> Date
    ) {
      self.database = database
      self.eviction = Mutex(eviction)
      self.now = now
    }

    /// Performs operations and returns their results in the same order. Then evicts records if the
    /// limit requires it.
    func perform(_ operations: [Operation]) -> [Result<Void, any Error>] {
      let (results, usage) = commit(operations)
      // The operations are done, so a failure here is not theirs. The next batch tries again.
      if let usage { try? evict(usage, after: operations) }
      return results
    }

    /// Performs all operations in one transaction. If it fails, performs each in its own, so that
    /// only the faulty one fails.
    private func commit(_ operations: [Operation]) -> ([Result<Void, any Error>], SQLiteEviction.Usage?) {
      do {
        return try database.access { access in
          let usage = try access.write(waits: operations.contains(where: \.waits)) { db in
            for operation in operations { try operation.body(db) }
            try times.write(db)
            return try SQLiteEviction.usage(db)
          }
          return (operations.map { finish($0, access) }, usage)
        }
      } catch {
        guard operations.count > 1, Self.mayBeOfOne(error) else {
          return (operations.map { .failure(outward(error, $0)) }, nil)
        }
        let ends = operations.map { commit([$0]) }
        return (ends.flatMap(\.0), ends.lazy.compactMap(\.1).last)
      }
    }

    private func finish(_ operation: Operation, _ access: Access) -> Result<Void, any Error> {
      do { return .success(try operation.finish?(access) ?? ()) } catch { return .failure(outward(error, operation)) }
    }

    /// Returns whether a single operation may have caused the error. A busy database would make
    /// each of them wait without success.
    private static func mayBeOfOne(_ error: any Error) -> Bool { (error as? DatabaseError)?.resultCode != .SQLITE_BUSY }

    private func outward(_ error: any Error, _ operation: Operation) -> any Error {
      SQLitePersistenceError.outward(operation.kind, database.files.path, error)
    }

    private func evict(_ usage: SQLiteEviction.Usage, after operations: [Operation]) throws {
      let added = operations.reduce(0) { $0 + $1.added }
      let waits = operations.contains(where: \.waits)
      var (usage, steps) = (usage, 0)
      while eviction.withLock({ $0.isDue(usage, after: steps, added: added) }) {
        // A copy, because the transaction may wait for another process.
        var eviction = eviction.withLock { $0 }
        usage = try database.write(waits: waits) { try eviction.evict($0, now: now()) }
        self.eviction.withLock { [eviction] in $0 = eviction }
        steps += 1
      }
    }
  }
#endif
