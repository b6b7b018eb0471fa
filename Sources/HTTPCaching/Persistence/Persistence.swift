import Synchronization

/// The durable copy: records by key.
///
/// A conformer is called concurrently; calls for one key come one after the other from one `ModelLayer`, but other
/// layers and other processes may use the same place. Every conformer passes the suite
/// `PersistenceConformance` of ReactorTesting.
///
/// A store of bytes writes ``Record/encoded()`` and reads ``Record/init(encoded:)``. It keeps the record's
/// ``Record/Head/identity`` as it is, and refuses a record whose identity is not the key's.
public protocol Persistence: Sendable {
  /// The record saved last under `key`, whole; `nil` where there is none.
  ///
  /// - Throws: where there is a record that cannot be read. The flow treats that as a miss.
  func load(_ key: RecordKey) async throws -> Record?

  /// Saves `record`, replacing what was there. When this returns, the record survives the end of the process;
  /// when it throws, what was there before is untouched.
  func save(_ record: Record, for key: RecordKey) async throws

  /// Removes the record; nothing happens where there is none.
  func remove(_ key: RecordKey) async throws

  /// Removes every record of `scope`; with `nil`, of every scope.
  func removeAll(in scope: Scope?) async throws

  /// A list of the stored records, in no particular order.
  ///
  /// An unsafe request and a removal ask for the entries of one URL while a caller waits. So a
  /// conformer finds these by an index: their cost must not grow with the number of other records.
  ///
  /// - Parameters:
  ///   - scope: only this scope's entries; `nil` for all.
  ///   - url: only entries whose ``RecordKey/url`` has exactly these bytes; `nil` for all. It is
  ///     text and no `URL`, which spells some characters in its own way.
  func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry]

  /// Returns the key under which secrets in URLs are digested: the same one whenever the store is
  /// open, in this process and in others, for as long as its records last.
  ///
  /// A layer and an ``HTTPCache`` ask when they meet the first URL with a secret, and keep the
  /// answer. They ask on the caller's executor, perhaps the main actor. So a conformer answers within
  /// milliseconds, and never waits for a lock of another process.
  ///
  /// - Returns: `nil` where the store has no key or cannot read it, which is the default. Secrets are
  ///   then digested under a random key of the process. Records of URLs with a secret are not found
  ///   after a restart, which is a miss and no error.
  func secretKey() -> SecretKey?
}

extension Persistence {
  public func secretKey() -> SecretKey? { nil }
}

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

/// Something in a store that cannot be read: what `verify()` of a ``Persistence`` found.
public struct RecordDefect: Sendable, Hashable, CustomStringConvertible {
  /// The file, or the record's key in it.
  public var place: String
  /// The defect that was seen. It holds nothing of what is stored.
  public var reason: String

  public init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  public var description: String { "\(place): \(reason)" }
}
