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
  /// Returns the record that was last saved under `key`, whole, or `nil` if nothing is stored.
  ///
  /// - Throws: An error if the record cannot be read. The cache and the flows treat it as a miss.
  func load(_ key: RecordKey) async throws -> Record?

  /// Saves `record` in place of an earlier one.
  ///
  /// When the method returns, the record survives the process. When it throws, the earlier record
  /// is unchanged.
  ///
  /// - Throws: ``Record/Failure/wrongKey`` if the record belongs to another key; an error if the
  ///   record cannot be saved.
  func save(_ record: Record, for key: RecordKey) async throws

  /// Removes the record of `key`. Does nothing if nothing is stored.
  func remove(_ key: RecordKey) async throws

  /// Removes every record of `scope`, or of every scope if `scope` is `nil`.
  func removeAll(in scope: Scope?) async throws

  /// Returns a list of the stored records, in any order.
  ///
  /// ```swift
  /// let size = try await persistence.entries(in: Scope(user), url: nil).reduce(0) { $0 + $1.size }
  /// ```
  ///
  /// For an unsafe request or a removal, a caller waits for the entries of one URL. So a conformer
  /// finds these with an index: their cost must not grow with the number of other records.
  ///
  /// - Parameters:
  ///   - scope: The scope to list; `nil` lists every scope.
  ///   - url: The URL to list, equal byte for byte to ``RecordKey/url``; `nil` lists every URL. It
  ///     is text because `URL` spells some characters differently.
  func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry]

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
  func secretKey() -> RecordKey.SecretKey?
}

extension Persistence {
  /// Returns `nil`: the store has no key.
  public func secretKey() -> RecordKey.SecretKey? { nil }
}

/// A store in memory. Its records end with the process. For servers, command-line tools and tests.
///
/// ```swift
/// let layer = ModelLayer(baseURL: api, persistence: MemoryPersistence(limit: 64 << 20))
/// ```
public final class MemoryPersistence: Persistence {
  fileprivate struct Stored {
    var record: Record
    /// The number of uses when it was used last.
    var lastUse: UInt64
    let size: Int

    init(_ record: Record, lastUse: UInt64) {
      self.record = record
      self.lastUse = lastUse
      // Measured with 4 to 20 fields and bodies of 200 to 20,000 bytes: from 0.85 to 1.1 times the
      // memory that they take.
      let fields = record.head.fields.reduce(0) { $0 + 120 + 2 * ($1.name.rawName.utf8.count + $1.value.utf8.count) }
      size = 350 + record.head.identity.utf8.count + fields + record.body.count
    }
  }

  fileprivate struct Contents {
    var records: [RecordKey: Stored] = [:]
    var size = 0
    var uses: UInt64 = 0
  }

  private let contents = Mutex(Contents())
  /// The most bytes that the store holds; `nil` for no limit.
  public let limit: Int?

  /// Creates an empty store.
  ///
  /// - Parameter limit: The most bytes of memory that the records take, as ``size`` counts them.
  ///   Beyond it, the least recently used records are removed. A record that exceeds the limit by
  ///   itself is not stored. Default: `nil`, for no limit.
  public init(limit: Int? = nil) { self.limit = limit }

  /// The bytes of memory that the records take, approximately: their bodies, fields and URLs, with
  /// overhead.
  public var size: Int { contents.withLock(\.size) }

  /// Returns the record that was last saved under `key`. Never throws.
  public func load(_ key: RecordKey) async throws -> Record? {
    contents.withLock { contents in
      guard limit != nil else { return contents.records[key]?.record }
      contents.uses += 1
      contents.records[key]?.lastUse = contents.uses
      return contents.records[key]?.record
    }
  }

  /// Saves `record` in place of an earlier one.
  ///
  /// - Throws: ``Record/Failure/wrongKey``.
  public func save(_ record: Record, for key: RecordKey) async throws {
    guard record.belongs(to: key) else { throw Record.Failure.wrongKey }
    contents.withLock { contents in
      contents.uses += 1
      let stored = Stored(record, lastUse: contents.uses)
      contents.size += stored.size - (contents.records.updateValue(stored, forKey: key)?.size ?? 0)
      if let limit, contents.size > limit { contents.evict(to: limit) }
    }
  }

  /// Removes the record of `key`. Never throws.
  public func remove(_ key: RecordKey) async throws {
    contents.withLock { contents in
      contents.size -= contents.records.removeValue(forKey: key)?.size ?? 0
    }
  }

  /// Removes every record of `scope`, or of every scope if `scope` is `nil`. Never throws.
  public func removeAll(in scope: Scope?) async throws {
    contents.withLock { contents in
      contents.records = scope.map { scope in contents.records.filter { $0.key.scope != scope } } ?? [:]
      contents.size = contents.records.values.reduce(0) { $0 + $1.size }
    }
  }

  /// Returns the stored records, sorted by ``RecordKey/identity``. The size of an entry counts only
  /// its body. Never throws.
  public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
    let stored = contents.withLock { contents in
      contents.records.filter { key, _ in
        scope.map { $0 == key.scope } ?? true && url.map(key.isOf) ?? true
      }.map { ($0.key, $0.value.record) }
    }
    // Sorted, so that every run has the same order.
    return stored.sortedUnspecialized { $0.0.identity < $1.0.identity }.map { key, record in
      Record.Entry(
        key: key, size: record.body.count, fetchedAt: record.head.receivedAt, freshUntil: record.head.freshUntil,
        groups: record.head.groups)
    }
  }
}

extension MemoryPersistence.Contents {
  /// Removes the least recently used records, until an eighth of the limit is free, so that sorting
  /// all of them is rare.
  fileprivate mutating func evict(to limit: Int) {
    let aim = limit - limit / 8
    // A record above the limit would evict everything else.
    for (key, stored) in records where stored.size > limit {
      records[key] = nil
      size -= stored.size
    }
    guard size > limit else { return }
    for (key, stored) in records.sorted(by: { $0.value.lastUse < $1.value.lastUse }) where size > aim {
      records[key] = nil
      size -= stored.size
    }
  }
}

extension Record {
  /// A stored record that cannot be read, found by a method such as ``FilePersistence/verify()``.
  ///
  /// ```swift
  /// for defect in try await persistence.verify() { print(defect.place, defect.reason) }
  /// ```
  public struct Defect: Sendable, Hashable, CustomStringConvertible {
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
}
