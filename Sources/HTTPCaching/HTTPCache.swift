public import Foundation
// The module's interface uses `HTTPFields`, `HTTPRequest` and their like.
@_exported public import HTTPTypes

/// The stored HTTP responses (RFC 9111) of a ``Persistence``.
///
/// ```swift
/// let cache = HTTPCache(persistence: FilePersistence(directory: directory))
/// let key = RecordKey(method: .get, url: "https://api.example.com/posts")
/// let record = try await cache.lookUp(key)
/// ```
///
/// Every record is looked up, validated, stored and invalidated here, for model layers and for
/// proxies alike. Pure functions make the decisions, and the cache loads and saves records. It
/// never parses a body and never sends a request. Its methods run on the caller's executor between
/// the calls of the persistence.
///
/// A response may vary on fields of its request (`Vary`). Its first variant is stored under the
/// response's key and lists at most 16 others, which have separate keys. Two variants of one key
/// that are stored at the same moment may miss each other. One of them is then fetched again.
public struct HTTPCache: Sendable {
  let persistence: (any Persistence)?
  package let digests: SecretDigests
  /// The rules of `No-Vary-Search` in memory; `nil` if only exact URLs match. Copies of the cache
  /// share them.
  let rules: PathRules?
  /// A Boolean value that indicates whether a load takes microseconds on the current thread.
  package let loadsAtOnce: Bool
  /// The names of query items that are secret in most APIs: `access_token`, `api_key`, `apikey`,
  /// `auth`, `client_secret`, `key`, `password`, `secret`, `sig`, `signature` and `token`.
  public static let defaultSecretQueryItems: Set<String> = SecretQuery.defaultNames
  /// The size in bytes up to which the body of a QUERY (RFC 10008) may be part of a key: 1 MiB. The
  /// response to a larger one is not stored.
  public static let largestQueryBody = 1 << 20
  /// The number of variants of one key that are stored beside the first. The oldest is removed
  /// first.
  static let variantLimit = 16

  /// Creates a cache that stores its records in a persistence.
  ///
  /// - Parameter persistence: The store of the records. With `nil`, the cache stores nothing.
  public init(persistence: (any Persistence)?) {
    self.init(persistence: persistence, digests: nil)
  }

  /// Creates a cache whose keys have these digests of secrets.
  ///
  /// - Parameter honorsNoVarySearch: Pass `false` if only the response to a URL itself answers its
  ///   requests. Default: `true`.
  package init(persistence: (any Persistence)?, digests: SecretDigests? = nil, honorsNoVarySearch: Bool = true) {
    self.persistence = persistence
    loadsAtOnce = persistence is FilePersistence
    self.digests = digests ?? SecretDigests(of: persistence)
    rules = honorsNoVarySearch && persistence != nil ? PathRules() : nil
  }

  /// A Boolean value that indicates whether the cache has a persistence.
  public var isPersistent: Bool { persistence != nil }

  /// Returns the stored record that answers a request with these fields, fresh or stale.
  ///
  /// ```swift
  /// if let record = try await cache.lookUp(key, for: request.headerFields) { show(record.body) }
  /// ```
  ///
  /// - Returns: The record, or `nil` if nothing matches. A record of another variant (RFC 9111
  ///   §4.1) does not answer the request, nor does one of another key with the same digest.
  /// - Throws: The persistence's error for a record that cannot be read.
  public func lookUp(_ key: RecordKey, for request: HTTPFields = [:]) async throws -> Record? {
    try await find(key, for: request).record
  }

  /// Returns the stored record that answers a request, as ``lookUp(_:for:)`` does, and whether only
  /// other variants are stored.
  package func find(_ key: RecordKey, for request: HTTPFields) async throws -> (record: Record?, hasOtherVariant: Bool)
  {
    guard let record = try await load(key) else { return (nil, false) }
    guard let variant = record.head.variant, !variant.matches(request) else { return (record, false) }
    let digest = variant.digest(for: request)
    guard record.head.otherVariants.contains(digest), var other = try await load(key.variant(digest)),
      other.head.variant?.matches(request) == true
    else { return (nil, true) }
    other.head.identity = key.identity
    return (other, false)
  }

  /// Stores `record` for `key`, unless its response forbids that (RFC 9111 §3).
  ///
  /// ```swift
  /// let head = Record.Head(
  ///   identity: key.identity, status: response.status, fields: response.headerFields,
  ///   requestedAt: began, receivedAt: Date())
  /// try await cache.store(Record(head: head, body: body), for: key, request: request.headerFields)
  /// ```
  ///
  /// If the response forbids it, the cache removes the stored record, which is then out of date.
  ///
  /// - Parameters:
  ///   - record: The record.
  ///   - key: The key of the record.
  ///   - request: The fields of its request, which select the variant to remove. Default: `nil`,
  ///     which removes every variant.
  /// - Returns: `true` if the record was stored.
  /// - Throws: The persistence's error. If saving fails, the stored record is unchanged.
  @discardableResult
  public func store(_ record: Record, for key: RecordKey, request: HTTPFields? = nil) async throws -> Bool {
    guard record.head.isStorable else {
      if let request { try await forget(key, for: request) } else { try await forget(key) }
      return false
    }
    try await save(record, for: key)
    return persistence != nil
  }

  /// Marks the record of `key` stale, in all its variants.
  ///
  /// A variant that cannot be read is removed, and the others are still marked.
  ///
  /// - Parameters:
  ///   - key: The key of the record. Does nothing if no record is stored under it.
  ///   - date: The current time of the wall clock, from which `stale-if-error` counts. The record
  ///     stays stale even if that clock is set back later.
  /// - Throws: The persistence's error.
  public func invalidate(_ key: RecordKey, at date: Date) async throws {
    let record: Record?
    do { record = try await load(key) } catch {
      try await noteChange(of: key, nil, at: date)
      throw error
    }
    if let record { try await save(record, invalidatedAt: date, for: key) }
    for other in record?.head.otherVariants.map(key.variant) ?? [] {
      do {
        if let record = try await load(other) { try await save(record, invalidatedAt: date, for: other) }
      } catch {
        // A variant that cannot be read is never used. The others must still be marked.
        try await persistence?.remove(other)
      }
    }
    try await noteChange(of: key, record, at: date)
  }

  /// Returns the keys of the records that are stored for a URL, with any method.
  ///
  /// ```swift
  /// for key in try await cache.keys(of: "https://api.example.com/stories", in: .shared) {
  ///   try await cache.invalidate(key, at: Date())
  /// }
  /// ```
  ///
  /// An unsafe request invalidates these records (RFC 9111 §4.4).
  ///
  /// - Parameters:
  ///   - url: The URL, with the digests of its secrets, as in ``RecordKey/url``.
  ///   - scope: The scope to search; `nil` searches every scope.
  /// - Throws: The persistence's error.
  public func keys(of url: String, in scope: Scope?) async throws -> [RecordKey] {
    let keys = try await persistence?.entries(in: scope, url: NormalURL.spelling(of: url)).map(\.key.base) ?? []
    var seen: Set<RecordKey> = []
    return keys.filter { !$0.isNote && seen.insert($0).inserted }
  }

  /// Removes the record of `key`, in all its variants.
  ///
  /// - Throws: The persistence's error. Some variants may then be left.
  public func remove(_ key: RecordKey) async throws {
    guard let persistence else { return }
    if let entries = try? await persistence.entries(in: key.scope, url: key.url) {
      // Also variants that no record lists: the response varied once and no longer does.
      for entry in entries where entry.key != key && entry.key.base == key { try await persistence.remove(entry.key) }
    }
    try await forget(key)
  }

  /// Removes every record of a scope.
  ///
  /// - Parameter scope: The scope to clear; `nil` clears every scope.
  /// - Throws: The persistence's error.
  public func removeAll(in scope: Scope?) async throws {
    rules?.removeAll()
    try await persistence?.removeAll(in: scope)
  }
}

extension HTTPCache {
  /// Removes everything that a look-up of `key` may find. Reads one record and lists nothing.
  func forget(_ key: RecordKey) async throws {
    let first = try? await load(key)
    await forgetAlias(of: first, key)
    for digest in first?.head.otherVariants ?? [] { try await persistence?.remove(key.variant(digest)) }
    try await persistence?.remove(key)
  }

  /// Removes the record that a look-up for `request` finds, and no other variant.
  package func forget(_ key: RecordKey, for request: HTTPFields) async throws {
    guard var first = try? await load(key), let variant = first.head.variant, variant.isMatchable else {
      return try await forget(key)
    }
    guard variant.matches(request) else {
      let digest = variant.digest(for: request)
      guard first.head.otherVariants.contains(digest) else { return }
      first.head.otherVariants.removeAll { $0 == digest }
      try await persistence?.save(first, for: key)
      return try await persistence?.remove(key.variant(digest)) ?? ()
    }
    // Another variant replaces the first one, which names the others.
    while let digest = first.head.otherVariants.popLast() {
      guard var next = try? await load(key.variant(digest)) else {
        try await persistence?.remove(key.variant(digest))
        continue
      }
      next.head.identity = key.identity
      next.head.otherVariants = first.head.otherVariants
      try await persistence?.save(next, for: key)
      return try await persistence?.remove(key.variant(digest)) ?? ()
    }
    try await persistence?.remove(key)
  }

  /// Saves `record` under `key`, or under a variant's own key where another variant has `key`.
  package func save(_ record: Record, for key: RecordKey) async throws {
    let older = await replaced(by: record, for: key)
    try await put(record, for: key)
    await note(record, for: key, inPlaceOf: older)
  }

  private func put(_ record: Record, for key: RecordKey) async throws {
    guard let persistence else { return }
    var record = record
    record.head.identity = key.identity
    record.head.otherVariants = []
    guard let variant = record.head.variant, variant.isMatchable, var first = try? await load(key),
      first.head.variant?.names == variant.names
    else { return try await persistence.save(record, for: key) }
    guard first.head.variant != variant else {
      record.head.otherVariants = first.head.otherVariants
      return try await persistence.save(record, for: key)
    }
    let other = key.variant(variant.digest)
    record.head.identity = other.identity
    try await persistence.save(record, for: other)
    guard !first.head.otherVariants.contains(variant.digest) else { return }
    first.head.otherVariants.append(variant.digest)
    let oldest = first.head.otherVariants.count > Self.variantLimit ? first.head.otherVariants.removeFirst() : nil
    try await persistence.save(first, for: key)
    if let oldest { try await persistence.remove(key.variant(oldest)) }
  }

  func load(_ key: RecordKey) async throws -> Record? {
    guard let record = try await persistence?.load(key), record.head.identity == key.identity else { return nil }
    return record
  }

  private func save(_ record: Record, invalidatedAt date: Date, for key: RecordKey) async throws {
    var record = record
    record.head.invalidate(at: date)
    try await persistence?.save(record, for: key)
  }
}
