import Foundation
public import HTTPCaching
import Synchronization

/// Records as bytes in a dictionary.
public final class DictionaryPersistence: Persistence {
  private let records = Mutex<[RecordKey: Data]>([:])

  public init() {}

  public func load(_ key: RecordKey) async throws -> Record? {
    try records.withLock { $0[key] }.map { try Record(encoded: $0) }
  }

  public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.head.identity == key.identity else { throw Record.Failure.wrongKey }
    records.withLock { $0[key] = record.encoded() }
  }

  public func remove(_ key: RecordKey) async throws {
    records.withLock { _ = $0.removeValue(forKey: key) }
  }

  public func removeAll(in scope: Scope?) async throws {
    records.withLock { records in records = records.filter { scope != nil && $0.key.scope != scope } }
  }

  public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    let bytes = url.map { Array($0.utf8) }
    let found = records.withLock { $0 }.filter { key, _ in
      (scope == nil || key.scope == scope) && (bytes == nil || Array(key.url.utf8) == bytes)
    }
    return try found.map { key, bytes in
      let record = try Record(encoded: bytes)
      return Record.Entry(
        key: key, size: bytes.count, fetchedAt: record.head.receivedAt, freshUntil: record.head.freshUntil)
    }
  }
}
