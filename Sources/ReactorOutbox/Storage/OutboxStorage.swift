public import Foundation
public import ReactorCore

/// A durable store of an outbox's entries, by scope.
///
/// ```swift
/// @Test func `my store keeps the contract`() async throws {
///   try await OutboxStorageConformance { MyOutboxStorage() }.run()
/// }
/// ```
///
/// A store never evicts entries, and never starts again silently. The methods are called
/// concurrently, including by other instances and other processes. Every conformer passes
/// `OutboxStorageConformance` of ReactorTesting.
///
/// A conformer does not read ``StoredEntry/bytes``. It returns them unchanged.
public protocol OutboxStorage: Sendable {
  /// Returns the entries of `scope` in the order of their numbers, their leases, and the ids from
  /// servers.
  ///
  /// Entries that cannot be read are left out and kept. ``OutboxContents/setAside`` describes them.
  func contents(of scope: Scope) async throws -> OutboxContents

  /// Returns a Boolean value that indicates whether `scope` may have entries whose numbers are
  /// between two others.
  ///
  /// Before the outbox sends an entry, it calls this if other processes may have added earlier
  /// ones, and reads the contents if the result is `true`. Implement it for a store that shares its
  /// numbers among all scopes, where every entry of another scope leaves such a gap.
  ///
  /// - Returns: `true` if the store does not know; the default implementation does so.
  func mayHaveEntries(in scope: Scope, after: UInt64, before: UInt64) async throws -> Bool

  /// Applies `changes` in order, all or none.
  ///
  /// When the method returns, the changes survive a power cut. When it throws, none was applied.
  ///
  /// - Returns: The numbers of the entries that were added or moved, in order. Each is greater than
  ///   every number that the scope had before, including removed entries' numbers.
  ///   ``removeAll(in:)`` may restart the numbers.
  /// - Throws: ``OutboxStorageError`` for a change that the store cannot accept; an error if the
  ///   changes cannot be saved.
  func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64]

  /// Leases an entry to a process, so that no other process sends it, and returns the entry.
  ///
  /// A process renews its own lease by claiming again. The lease survives updates and moves, and is
  /// gone with the entry. When the method returns, the lease survives a power cut. When it throws,
  /// the leases are unchanged.
  ///
  /// - Parameters:
  ///   - id: The entry.
  ///   - scope: The scope of the entry.
  ///   - process: The process that will send the entry.
  ///   - now: The current time. A lease of another process counts until this time reaches its
  ///     expiry.
  ///   - until: The expiry of the lease. A lease of another process whose expiry is more than twice
  ///     as far from `now` does not count: the clock was set back since it was made.
  /// - Returns: The entry as stored when it was leased. Another process may have changed it since
  ///   the caller read it. `nil` if the entry is not stored, or if another process holds a lease.
  func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry?

  /// Releases the lease of `process`. Does nothing if it has none.
  func release(_ id: UUID, in scope: Scope, by process: UUID) async throws

  /// Removes everything of `scope`, or of every scope if `scope` is `nil`: entries, ids, leases,
  /// and entries that were set aside.
  func removeAll(in scope: Scope?) async throws

  /// Removes everything of `scope` but some entries, which keep their numbers, bytes and leases:
  /// another process may be sending one of them. Called if an app submits while it signs out, so
  /// that nothing else of the scope stays on the disk.
  ///
  /// The default implementation commits the removal of the other entries. It leaves ids, and
  /// entries that were set aside.
  ///
  /// - Throws: an error if something is left. The entries to keep stay in any case.
  func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws
}

extension OutboxStorage {
  /// The default implementation: returns `true`.
  public func mayHaveEntries(in scope: Scope, after: UInt64, before: UInt64) async throws -> Bool { true }

  /// The default implementation: it removes the other entries in one commit.
  ///
  /// - Throws: an error if something is left.
  public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    let others = try await contents(of: scope).entries.map(\.id).filter { !ids.contains($0) }
    // A removal has no number.
    _ = try await commit(others.map(OutboxChange.remove), in: scope)
  }
}

/// One change in a commit of an ``OutboxStorage``.
public enum OutboxChange: Sendable, Hashable {
  /// Adds an entry at the end of the order. Its number is ignored.
  case add(StoredEntry)
  /// Changes nothing. The commit fails with ``OutboxStorageError/changedEntry(_:)`` unless the
  /// entry is stored with exactly these bytes, since another process may have changed it.
  case require(StoredEntry)
  /// Replaces the lane and the bytes of a stored entry. Its number stays.
  case update(StoredEntry)
  /// Replaces a stored entry, and moves it to the end of the order.
  case move(StoredEntry)
  /// Removes an entry. Does nothing if the entry does not exist.
  case remove(UUID)
  /// Saves the JSON of the id that stands for a temporary id; `null` if no id will ever arrive.
  case identify(String, Data)
}

/// The part of an ``OutboxStorage`` that belongs to one scope.
public struct OutboxContents: Sendable, Hashable {
  /// The entries in the order of their numbers.
  public var entries: [StoredEntry]
  /// The JSON of the ids from servers, by the temporary id. A store may forget old ids that no
  /// entry contains. The stores of this package keep at least the latest 1,000 of them.
  public var identities: [String: Data]
  /// The leases of the entries, by the id of the entry. Released leases are not included; expired
  /// leases may be.
  public var leases: [UUID: OutboxLease]
  /// A description of each part that could not be read, and was set aside and kept. They are
  /// returned until ``OutboxStorage/removeAll(in:)``.
  public var setAside: [String]
  /// The identity of the store; `nil` if the storage has none.
  ///
  /// A store keeps its identity across commits and ``OutboxStorage/removeAll(in:)``, in each
  /// process. A store that was deleted from outside and is created again gets a new identity.
  /// Before it is created, it has the identity that it will get.
  ///
  /// If the identity has changed, the outbox saves its entries in memory again. Without an
  /// identity, the outbox assumes that another process has finished a missing entry.
  public var identity: UUID?

  /// Creates contents from their parts.
  public init(
    entries: [StoredEntry] = [], identities: [String: Data] = [:], leases: [UUID: OutboxLease] = [:],
    setAside: [String] = [], identity: UUID? = nil
  ) {
    self.entries = entries
    self.identities = identities
    self.leases = leases
    self.setAside = setAside
    self.identity = identity
  }
}

/// The right of one process to send an entry. It expires by itself.
public struct OutboxLease: Sendable, Hashable {
  /// The process that holds the lease.
  public var process: UUID
  /// The expiry of the lease. From this time on, another process may claim the entry.
  public var until: Date

  /// Creates a lease from its parts.
  public init(process: UUID, until: Date) {
    self.process = process
    self.until = until
  }
}

/// An entry as an ``OutboxStorage`` stores it.
public struct StoredEntry: Sendable, Hashable, Identifiable {
  /// The largest number of bytes that a store accepts: 1 MiB for a body, and 64 KiB for its
  /// description.
  public static let byteLimit = (1 << 20) + (64 << 10)

  /// The identity of the entry within its scope.
  public let id: UUID
  /// The place of the entry in the order of its scope. The store assigns it.
  public var number: UInt64
  /// The lane of the entry.
  public var lane: String
  /// The encoded entry, at most ``byteLimit`` bytes.
  public var bytes: Data

  /// Creates an entry from its parts.
  ///
  /// - Parameter number: The number that a store has assigned. Default: zero, for a new entry.
  public init(id: UUID, number: UInt64 = 0, lane: String, bytes: Data) {
    self.id = id
    self.number = number
    self.lane = lane
    self.bytes = bytes
  }
}

extension OutboxContents {
  /// The largest number of entries that a store accepts for one scope: 10,000.
  public static let entryLimit = 10_000
}
