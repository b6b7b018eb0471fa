public import Foundation
// The module's interface uses `Persistence`, `RecordKey`, `HTTPRequest` and their like.
@_exported public import HTTPCaching

/// A cache of HTTP responses (RFC 9111) between clients and a server, for a proxy or for any HTTP
/// client.
///
/// ```swift
/// let cache = ProxyCache(persistence: FilePersistence(directory: directory))
/// switch await cache.plan(for: request, at: Date()) {
/// case .answer(let answer): respond(answer)
/// case .answerAndSend(let answer, let exchange): respond(answer, thenSend: exchange)
/// case .send(let exchange): send(exchange)
/// }
/// ```
///
/// The cache answers a request from its persistence or names the request to send,
/// and takes the server's response. It never parses a body and never sends a request. Pure
/// functions make the decisions. Its methods run on the caller's executor between the calls of the
/// persistence.
public struct ProxyCache: Sendable {
  /// The stored records.
  package let records: HTTPCache
  /// The rules by which the cache stores and uses responses.
  public let rules: CacheRules
  let keepsCookies: Bool
  /// The store that other processes share; `nil` for none.
  package var tier: (any CacheTier)?
  /// The requests that are sent and not answered yet. Copies of the cache share it.
  let underWay = ExchangesUnderWay()
  let secretQueryItems: Set<String>

  /// Creates a cache that stores its records in a persistence.
  ///
  /// - Parameters:
  ///   - persistence: The store of the records. With `nil`, the cache stores nothing.
  ///   - rules: The rules by which the cache stores and uses responses. Default: those of a private
  ///     cache. A store has one set of rules: a private cache may have stored responses of a single
  ///     user.
  ///   - keepsCookies: A Boolean value that indicates whether `Set-Cookie` is stored with a
  ///     response. Only a proxy of a single user should set it; a shared cache never stores it.
  ///     Default: `false`.
  ///   - secretQueryItems: The names of query items whose values are kept out of the store. Where a
  ///     model layer uses the same store, pass the layer's names. With other names, the layer and
  ///     the cache store one URL under two keys.
  ///   - honorsNoVarySearch: A Boolean value that indicates whether a response may answer requests
  ///     of other queries of its path, as its `No-Vary-Search` says. Set it in a shared cache only
  ///     if the server never answers for a user, or for another page, by its query alone: one
  ///     response can otherwise replace all others of its path. Default: `nil`, which means `true`
  ///     for a private cache and `false` for a shared one. A cache of a fleet never does it.
  public init(
    persistence: (any Persistence)?, rules: CacheRules = .private, keepsCookies: Bool = false,
    secretQueryItems: Set<String> = HTTPCache.defaultSecretQueryItems, honorsNoVarySearch: Bool? = nil
  ) {
    records = HTTPCache(
      persistence: persistence, honorsNoVarySearch: honorsNoVarySearch ?? !rules.isShared)
    self.rules = rules
    self.keepsCookies = keepsCookies && !rules.isShared
    self.secretQueryItems = secretQueryItems
  }

  /// Creates a private cache in memory over a tier, whose keys have these digests of secrets.
  ///
  /// - Parameter limit: The size of the records, in bytes.
  package init(limit: Int, tier: any CacheTier, digests: SecretDigests, secretQueryItems: Set<String>) {
    records = HTTPCache(persistence: MemoryPersistence(limit: limit), digests: digests, honorsNoVarySearch: false)
    rules = .private
    keepsCookies = false
    self.secretQueryItems = secretQueryItems
    self.tier = tier
  }

  /// Returns the keys of the records that are stored for a URL, with any method.
  ///
  /// ```swift
  /// for key in try await cache.keys(of: "https://api.example.com/stories", in: nil) {
  ///   try await cache.remove(key)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - url: The URL, with the digests of its secrets, as in `RecordKey.url`.
  ///   - scope: The scope to search; `nil` searches every scope.
  /// - Throws: The persistence's error.
  public func keys(of url: String, in scope: Scope?) async throws -> [RecordKey] {
    try await records.keys(of: url, in: scope)
  }

  /// Marks the record of `key` stale, in all its variants, and the responses to equivalent URLs
  /// (`No-Vary-Search`). The response to a request that is under way is not stored.
  ///
  /// ```swift
  /// for key in try await cache.keys(of: url, in: nil) {
  ///   try await cache.invalidate(key, at: Date())
  /// }
  /// ```
  ///
  /// A variant that cannot be read is removed, and the others are still marked.
  ///
  /// - Parameters:
  ///   - key: The key of the record. Does nothing if no record is stored under it.
  ///   - date: The current time of the wall clock, from which `stale-if-error` counts. The record
  ///     stays stale even if that clock is set back later.
  /// - Throws: The persistence's error.
  public func invalidate(_ key: RecordKey, at date: Date) async throws {
    underWay.overtake(urls: [key.url], in: key.scope)
    if await records.hasRule(key) { underWay.overtake(path: key.url) }
    await tier?.fence([key.url], in: key.scope, removes: false)
    try await records.invalidate(key, at: date)
  }

  /// Removes the record of `key`, in all its variants. The response to a request that is under way
  /// is not stored.
  ///
  /// - Throws: The persistence's error. Some variants may then be left.
  public func remove(_ key: RecordKey) async throws {
    underWay.overtake(urls: [key.url], in: key.scope)
    await tier?.fence([key.url], in: key.scope, removes: true)
    try await records.remove(key)
  }

  /// Removes every record of a scope. The responses to requests that are under way are not stored.
  ///
  /// - Parameter scope: The scope to clear; `nil` clears every scope.
  /// - Throws: The persistence's error.
  public func removeAll(in scope: Scope?) async throws {
    underWay.overtakeAll(in: scope)
    await tier?.removeAll(in: scope)
    try await records.removeAll(in: scope)
  }
}
