import Synchronization

/// Records in memory, gone with the process and bounded by nothing: for tests and command-line tools.
public final class MemoryPersistence: Persistence {
  private let records = Mutex<[RecordKey: Record]>([:])

  public init() {}

  public func load(_ key: RecordKey) async throws -> Record? {
    records.withLock { $0[key] }
  }

  /// - Throws: ``RecordError/wrongKey``.
  public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.belongs(to: key) else { throw RecordError.wrongKey }
    records.withLock { $0[key] = record }
  }

  public func remove(_ key: RecordKey) async throws {
    records.withLock { _ = $0.removeValue(forKey: key) }
  }

  public func removeAll(in scope: Scope?) async throws {
    records.withLock { records in
      guard let scope else { return records.removeAll() }
      records = records.filter { $0.key.scope != scope }
    }
  }

  public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] {
    let stored = records.withLock { records in
      guard scope != nil || url != nil else { return Array(records) }
      return records.filter { key, _ in
        scope.map { $0 == key.scope } ?? true && url.map(key.isOf) ?? true
      }.map { $0 }
    }
    // In an order that is the same in each run.
    return stored.sorted { $0.key.identity < $1.key.identity }.map { key, record in
      RecordEntry(
        key: key, size: record.body.count, fetchedAt: record.head.receivedAt, freshUntil: record.head.freshUntil)
    }
  }
}
