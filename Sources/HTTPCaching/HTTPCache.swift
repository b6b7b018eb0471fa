public import Foundation
// `HTTPFields`, `HTTPRequest` and their like are part of this module's interface.
@_exported public import HTTPTypes

/// Looks up, validates, updates, stores and invalidates records: the only code that does, for models and for a proxy alike.
///
/// What to do is decided by pure functions (RFC 9111); this is their shell over a ``Persistence``. It never parses a body and
/// never sends a request.
///
/// Of a response that varies (`Vary`), the first variant is stored under its key, and names the others, which have keys of their
/// own. Variants of one key that are stored at the same moment may miss each other: then one of them is asked for again.
public struct HTTPCache: Sendable {
  let persistence: (any Persistence)?
  let keepsCookies: Bool
  let secretQueryItems: Set<String>
  package let digests: SecretDigests
  /// The names of query items that are secret in most APIs: `access_token`, `api_key`, `apikey`, `auth`, `client_secret`, `key`,
  /// `password`, `secret`, `sig`, `signature` and `token`.
  public static let defaultSecretQueryItems: Set<String> = SecretQuery.defaultNames
  /// The number of variants of one key that are stored beside the first; the oldest goes first.
  static let variantLimit = 16

  /// - Parameters:
  ///   - persistence: `nil` keeps nothing.
  ///   - keepsCookies: whether `Set-Cookie` is stored with a response: for a proxy of one user. Default: it is not.
  ///   - secretQueryItems: the names of query items whose values ``plan(for:scope:at:)`` and
  ///     ``receive(_:body:for:at:)`` keep out of the store. A store that is shared with a model layer needs the same names as
  ///     the layer: otherwise the two know one URL by two keys.
  public init(
    persistence: (any Persistence)?, keepsCookies: Bool = false,
    secretQueryItems: Set<String> = HTTPCache.defaultSecretQueryItems
  ) {
    self.persistence = persistence
    self.keepsCookies = keepsCookies
    self.secretQueryItems = secretQueryItems
    digests = SecretDigests(of: persistence)
  }

  /// A Boolean value that indicates whether it keeps anything.
  public var isPersistent: Bool { persistence != nil }

  /// The record of `key` that answers a request with these fields; `nil` where there is none.
  ///
  /// A record of another key with the same digest, and one of another variant (RFC 9111 §4.1), are none.
  /// - Throws: what the persistence throws for a record that cannot be read.
  public func lookUp(_ key: RecordKey, for request: HTTPFields = [:]) async throws -> Record? {
    guard let record = try await load(key) else { return nil }
    guard let variant = record.head.variant, !variant.matches(request) else { return record }
    let digest = variant.digest(for: request)
    guard record.head.otherVariants.contains(digest), var other = try await load(key.variant(digest)),
      other.head.variant?.matches(request) == true
    else { return nil }
    other.head.identity = key.identity
    return other
  }

  /// Stores `record`, unless its response forbids it (RFC 9111 §3); then what was stored before is removed, since it is
  /// older than an answer that was given.
  ///
  /// - Returns: whether it is stored.
  @discardableResult
  public func store(_ record: Record, for key: RecordKey) async throws -> Bool {
    guard record.head.isStorable else {
      try await forget(key)
      return false
    }
    try await save(record, for: key)
    return persistence != nil
  }

  /// Declares the record of `key` stale, in all its variants.
  ///
  /// - Parameter date: when; the wall clock's present time. The record is stale even if that clock is set
  ///   back later. `stale-if-error` counts from it.
  public func invalidate(_ key: RecordKey, at date: Date) async throws {
    guard let record = try await load(key) else { return }
    try await save(record, invalidatedAt: date, for: key)
    for other in record.head.otherVariants.map(key.variant) {
      do {
        if let record = try await load(other) { try await save(record, invalidatedAt: date, for: other) }
      } catch {
        // One that cannot be read is not used either; the others go on.
        try await persistence?.remove(other)
      }
    }
  }

  /// The keys of `scope` that are stored for a URL, whatever their method: an unsafe request invalidates them
  /// (RFC 9111 §4.4).
  ///
  /// - Parameters:
  ///   - url: as ``RecordKey/url`` spells it.
  ///   - scope: `nil` for every scope.
  public func keys(of url: String, in scope: Scope?) async throws -> [RecordKey] {
    let keys = try await persistence?.entries(in: scope, url: url).map(\.key.base) ?? []
    var seen: Set<RecordKey> = []
    return keys.filter { seen.insert($0).inserted }
  }

  /// Removes the record of `key`, in all its variants.
  public func remove(_ key: RecordKey) async throws {
    guard let persistence else { return }
    if let entries = try? await persistence.entries(in: key.scope, url: key.url) {
      // Those too that nothing names any more, since what varied has come without varying.
      for entry in entries where entry.key != key && entry.key.base == key { try await persistence.remove(entry.key) }
    }
    try await forget(key)
  }

  /// - Parameter scope: `nil` for every scope.
  public func removeAll(in scope: Scope?) async throws { try await persistence?.removeAll(in: scope) }
}

extension HTTPCache {
  /// Removes what a look-up may find. It reads one record, and no list.
  func forget(_ key: RecordKey) async throws {
    let others = (try? await load(key))?.head.otherVariants ?? []
    for digest in others { try await persistence?.remove(key.variant(digest)) }
    try await persistence?.remove(key)
  }

  /// Saves under the key, or beside it, where another variant is there already.
  func save(_ record: Record, for key: RecordKey) async throws {
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

  private func load(_ key: RecordKey) async throws -> Record? {
    guard let record = try await persistence?.load(key), record.head.identity == key.identity else { return nil }
    return record
  }

  private func save(_ record: Record, invalidatedAt date: Date, for key: RecordKey) async throws {
    var record = record
    record.head.invalidate(at: date)
    try await persistence?.save(record, for: key)
  }
}
