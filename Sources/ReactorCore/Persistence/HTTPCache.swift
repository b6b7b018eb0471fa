public import Foundation
public import HTTPTypes

/// Looks up, validates, updates, stores and invalidates records: the only code that does, for models and for a proxy alike.
///
/// What to do is decided by pure functions (RFC 9111); this is their shell over a ``Persistence``. It never parses a body and
/// never sends a request.
public struct HTTPCache: Sendable {
  private let persistence: (any Persistence)?

  /// - Parameter persistence: `nil` keeps nothing.
  public init(persistence: (any Persistence)?) { self.persistence = persistence }

  /// Whether it keeps anything.
  public var isPersistent: Bool { persistence != nil }

  /// The record of `key` that answers a request with these fields; `nil` where there is none.
  ///
  /// A record of another key with the same digest, and one of another variant (RFC 9111 §4.1), are none.
  /// - Throws: what the persistence throws for a record that cannot be read.
  public func lookUp(_ key: RecordKey, for request: HTTPFields = [:]) async throws -> Record? {
    guard let record = try await persistence?.load(key), record.head.identity == key.identity,
      record.head.variant?.matches(request) ?? true
    else { return nil }
    return record
  }

  /// Stores `record`, unless its response forbids it (RFC 9111 §3); then what was stored before is removed, since it is
  /// older than an answer that was given.
  ///
  /// - Returns: whether it is stored.
  @discardableResult
  public func store(_ record: Record, for key: RecordKey) async throws -> Bool {
    guard record.head.isStorable else {
      try await persistence?.remove(key)
      return false
    }
    try await persistence?.save(record, for: key)
    return persistence != nil
  }

  /// Declares the record of `key` stale from `date` on.
  public func invalidate(_ key: RecordKey, at date: Date) async throws {
    guard var record = try await persistence?.load(key), record.head.identity == key.identity else { return }
    record.head.invalidatedAt = min(record.head.invalidatedAt ?? date, date)
    try await persistence?.save(record, for: key)
  }

  /// The keys of `scope` that are stored for a URL, whatever their method: an unsafe request invalidates them
  /// (RFC 9111 §4.4).
  public func keys(of url: URL, in scope: Scope) async throws -> [RecordKey] {
    try await persistence?.entries(in: scope, url: url).map(\.key) ?? []
  }

  public func remove(_ key: RecordKey) async throws { try await persistence?.remove(key) }

  /// - Parameter scope: `nil` for every scope.
  public func removeAll(in scope: Scope?) async throws { try await persistence?.removeAll(in: scope) }
}
