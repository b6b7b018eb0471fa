public import Foundation

/// The durable copy: records by key.
///
/// A conformer is called concurrently; calls for one key come one after the other from one ``ModelLayer``, but other
/// layers and other processes may use the same place. Every conformer passes the suite
/// `PersistenceConformance` of ReactorTesting.
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

  /// What is stored, in no particular order.
  ///
  /// - Parameters:
  ///   - scope: only this scope's entries; `nil` for all.
  ///   - url: only entries of this URL; `nil` for all.
  func entries(in scope: Scope?, url: URL?) async throws -> [RecordEntry]
}
