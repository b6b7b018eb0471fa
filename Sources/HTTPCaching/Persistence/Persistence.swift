import Synchronization

/// A durable store of records, by key.
///
/// The methods are called concurrently. One `ModelLayer` makes its calls for one key one after the
/// other, but other layers and other processes may use the same store. Every conformer passes
/// `PersistenceConformance` of ReactorTesting.
///
/// A conformer that stores bytes writes ``Record/encoded()`` and reads ``Record/init(encoded:)``.
/// It stores the record's ``Record/Head/identity`` unchanged, and refuses a record whose identity
/// is not the key's.
public protocol Persistence: Sendable {
  /// Returns the record that was last saved under `key`, whole, or `nil` if there is none.
  ///
  /// - Throws: An error if the record cannot be read. The cache and the flows treat it as a miss.
  func load(_ key: RecordKey) async throws -> Record?

  /// Saves `record` in place of an earlier one.
  ///
  /// When the method returns, the record survives the end of the process. When it throws, the
  /// earlier record is unchanged.
  ///
  /// - Throws: ``RecordError/wrongKey`` if the record belongs to another key; an error if the
  ///   record cannot be saved.
  func save(_ record: Record, for key: RecordKey) async throws

  /// Removes the record of `key`. Nothing happens if there is none.
  func remove(_ key: RecordKey) async throws

  /// Removes every record of `scope`, or of every scope if `scope` is `nil`.
  func removeAll(in scope: Scope?) async throws

  /// Returns a list of the stored records, in any order.
  ///
  /// For an unsafe request or a removal, a caller waits for the entries of one URL. So a conformer
  /// finds these with an index: their cost must not grow with the number of other records.
  ///
  /// - Parameters:
  ///   - scope: The scope to list; `nil` lists every scope.
  ///   - url: The URL to list, equal byte for byte to ``RecordKey/url``; `nil` lists every URL. It
  ///     is text because `URL` spells some characters differently.
  func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry]

  /// Returns the key under which secrets in URLs are digested.
  ///
  /// The key is the same each time the store is open, in this process and in others, for as long as
  /// its records last. A model layer and an ``HTTPCache`` read it at the first URL with a secret,
  /// and keep it. They call the method on the caller's executor, which may be the main actor. So a
  /// conformer returns within milliseconds, and never waits for a lock of another process.
  ///
  /// - Returns: The key, or `nil` if the store has none or cannot read it. The default
  ///   implementation returns `nil`. Secrets are then digested under a random key of the process,
  ///   and records of URLs with a secret are missed after a restart.
  func secretKey() -> SecretKey?
}

extension Persistence {
  /// Returns `nil`: the store has no key.
  public func secretKey() -> SecretKey? { nil }
}

/// A store in memory, without a limit. Its records end with the process. For tests and command-line
/// tools.
public final class MemoryPersistence: Persistence {
  private let records = Mutex<[RecordKey: Record]>([:])

  /// Creates an empty store.
  public init() {}

  /// Returns the record that was last saved under `key`. Never throws.
  public func load(_ key: RecordKey) async throws -> Record? {
    records.withLock { $0[key] }
  }

  /// Saves `record` in place of an earlier one.
  ///
  /// - Throws: ``RecordError/wrongKey``.
  public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.belongs(to: key) else { throw RecordError.wrongKey }
    records.withLock { $0[key] = record }
  }

  /// Removes the record of `key`. Never throws.
  public func remove(_ key: RecordKey) async throws {
    records.withLock { _ = $0.removeValue(forKey: key) }
  }

  /// Removes every record of `scope`, or of every scope if `scope` is `nil`. Never throws.
  public func removeAll(in scope: Scope?) async throws {
    records.withLock { records in
      guard let scope else { return records.removeAll() }
      records = records.filter { $0.key.scope != scope }
    }
  }

  /// Returns the stored records, sorted by ``RecordKey/identity``. The size of an entry is that of
  /// the body alone. Never throws.
  public func entries(in scope: Scope?, url: String?) async throws -> [RecordEntry] {
    let stored = records.withLock { records in
      guard scope != nil || url != nil else { return Array(records) }
      return records.filter { key, _ in
        scope.map { $0 == key.scope } ?? true && url.map(key.isOf) ?? true
      }.map { $0 }
    }
    // Sorted, so that every run has the same order.
    return stored.sortedUnspecialized { $0.key.identity < $1.key.identity }.map { key, record in
      RecordEntry(
        key: key, size: record.body.count, fetchedAt: record.head.receivedAt, freshUntil: record.head.freshUntil,
        groups: record.head.groups)
    }
  }
}

/// A stored record that cannot be read, found by a method such as ``FilePersistence/verify()``.
public struct RecordDefect: Sendable, Hashable, CustomStringConvertible {
  /// The path of the file, or the record's key in a database.
  public var place: String
  /// A description of the damage. It contains none of the stored data.
  public var reason: String

  /// Creates a defect from its parts.
  public init(place: String, reason: String) {
    self.place = place
    self.reason = reason
  }

  /// The place and the reason.
  public var description: String { "\(place): \(reason)" }
}
