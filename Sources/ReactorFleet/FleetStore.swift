public import Foundation

/// A store that several servers share for HTTP responses.
///
/// ```swift
/// @Test func `my store keeps the contract`() async throws {
///   try await FleetStoreConformance { MyFleetStore(namespace: UUID().uuidString) }.run()
/// }
/// ```
///
/// A store keeps one *hash* for each URL of a scope, which holds the records of that URL, their
/// leases, and a *fence*. Each method is atomic for the hash that it concerns. Numbers come from
/// the store's clock, in microseconds, and are unique within a hash.
///
/// A record is stored if and only if the hash is older than the ticket, and neither a fence nor
/// another record of the hash is newer:
///
/// > `commit(T)` is kept ⇔ begun ≤ T, fence < T, and max(version, confirmation) < T
///
/// So a response that was requested before an invalidation is never stored after it, whichever
/// server sent the request and however late the response arrives.
///
/// A cancelled call may still be carried out. No call takes longer than about a second: a store
/// that does not answer throws ``FleetError/unavailable(_:)``. Every conformer passes
/// `FleetStoreConformance` of ReactorTesting.
public protocol FleetStore: Sendable {
  /// Reads a record.
  ///
  /// - Parameters:
  ///   - record: The record to read.
  ///   - known: The version whose body the caller has. If that is still stored, the result has no
  ///     body.
  func read(_ record: FleetRecordID, known: FleetVersion?) async throws(FleetError) -> FleetStoredRecord

  /// Draws a ticket for a request to the server, and takes the lease of the record unless another
  /// server has it.
  ///
  /// - Parameters:
  ///   - record: The record that will have the response.
  ///   - wish: ``FleetLeaseRequest/lease`` to wait if another server sends the request already.
  ///   - lease: The time after which another server may take the lease. The ticket stays valid.
  ///   - retention: The minimum time for which a new hash is kept, longer than a request.
  func begin(
    _ record: FleetRecordID, _ wish: FleetLeaseRequest, lease: Duration, retention: Duration
  ) async throws(FleetError) -> FleetLeaseAnswer

  /// Extends a lease.
  ///
  /// - Returns: `false` if the ticket no longer has the lease.
  func renew(_ ticket: FleetTicket, lease: Duration) async throws(FleetError) -> Bool

  /// Stores a response, or confirms the stored one, unless a newer one is stored. Releases the
  /// record's lease, and notifies the servers that wait for it.
  ///
  /// - Parameters:
  ///   - ticket: The ticket that was drawn before the request was sent.
  ///   - change: The new record.
  ///   - retention: The minimum time for which the record is kept.
  func commit(
    _ ticket: FleetTicket, _ change: FleetChange, retention: Duration
  ) async throws(FleetError) -> FleetCommitResult

  /// Releases a lease without a response to store, and notifies the servers that wait for it. Does
  /// nothing if the ticket no longer has the lease.
  func release(_ ticket: FleetTicket, _ reason: FleetRelease) async throws(FleetError)

  /// Makes every record of a URL stale, and the responses to requests in flight.
  ///
  /// It also works on a full store.
  ///
  /// - Parameters:
  ///   - url: The URL.
  ///   - removes: `true` to remove the records.
  ///   - version: The version of a fence that was sent before and may be lost; `nil` draws a new
  ///     one.
  /// - Returns: The version below which everything is stale.
  func fence(
    _ url: FleetURLID, removes: Bool, replaying version: FleetVersion?
  ) async throws(FleetError) -> FleetVersion

  /// Returns the generation of a scope. The generation is part of each ``FleetURLID``, so after a
  /// new one, no earlier record is found.
  ///
  /// - Parameters:
  ///   - scope: A digest of the scope.
  ///   - renews: `true` to start a new generation, and to notify the other servers.
  func generation(of scope: String, renews: Bool) async throws(FleetError) -> FleetGeneration

  /// Checks that the store accepts writes and that messages arrive, and reads the state on which
  /// all servers must agree. It writes first, and then sends its message.
  ///
  /// - Parameters:
  ///   - node: The name that the server passes to ``follow(_:_:)``.
  ///   - nonce: The number that comes back to ``follow(_:_:)`` as ``FleetMessage/beat(_:)``.
  ///   - scopes: The digests of the scopes whose generations are read, and kept alive. All of them
  ///     take one round trip.
  /// - Throws: The error of a store that accepts no writes, such as ``FleetError/readOnly(_:)``.
  func beat(_ node: String, nonce: UInt64, scopes: [String]) async throws(FleetError) -> FleetHeartbeat

  /// Delivers the messages of all servers, until the connection is lost or the task is cancelled.
  ///
  /// - Parameters:
  ///   - node: The name of this server, of 1 to 64 letters and digits.
  ///   - body: Receives ``FleetMessage/following`` first, and then each message in order. It runs
  ///     on an executor of the store, and must return at once.
  func follow(_ node: String, _ body: @escaping @Sendable (FleetMessage) -> Void) async throws(FleetError)

  /// The number of servers that follow.
  func nodes() async throws(FleetError) -> Int

  /// The largest body in bytes that the store can return. Default: no limit.
  var largestBody: Int { get }
}

extension FleetStore {
  /// No limit.
  public var largestBody: Int { .max }
}

/// An error of a ``FleetStore``.
///
/// ```swift
/// do {
///   try await fleet.invalidate(url)
/// } catch .unavailable {
///   logger.notice("the other servers are notified later")
/// }
/// ```
///
/// No error of a store fails a fetch: if the store is unreachable, the server contacts the origin.
@nonexhaustive public enum FleetError: Error, Sendable, Hashable {
  /// The store does not answer: it cannot be reached, is starting, or takes too long.
  case unavailable(String)
  /// The store answers, but accepts no writes now: it is full or a replica.
  case readOnly(String)
  /// The store refuses this program: the password, a permission or a version is wrong.
  case misconfigured(String)
  /// A key of the fleet has data that this library has not stored.
  case wrongData(String)
}

extension FleetError: CustomStringConvertible, LocalizedError {
  /// A sentence with the failure and its remedy.
  public var description: String {
    switch self {
    case .unavailable(let reason):
      "the store of the fleet does not answer: \(reason); each server contacts the origin by itself meanwhile"
    case .readOnly(let reason):
      "the store of the fleet takes no changes: \(reason); give it memory, or its primary's address"
    case .misconfigured(let reason): "the store of the fleet refuses this program: \(reason); correct its configuration"
    case .wrongData(let reason):
      "the store of the fleet has foreign data: \(reason); give the fleet a namespace of its own"
    }
  }

  public var errorDescription: String? { description }
}
