import Foundation
public import ReactorCore
public import ReactorOutbox
import ReactorTesting
import Synchronization

extension SimulatedDisk {
  /// Returns the outbox on the disk for one process, until that process crashes.
  ///
  /// A commit in flight at a crash is there whole afterwards, or not at all. A commit that fails
  /// has changed nothing.
  public func openOutbox() -> some OutboxStorage { openOutbox(in: nil) }

  /// Returns the outbox on the disk for a process that may also crash by itself.
  package func openOutbox(in process: SimulatedProcess?) -> some OutboxStorage {
    OutboxHandle(disk: self, tenant: tenant(process))
  }

  /// Returns the part of the outbox that belongs to a scope, without latency and faults.
  public func outboxContents(of scope: Scope) async -> OutboxContents {
    // A store in memory never throws.
    (try? await outboxPlatter.contents(of: scope)) ?? OutboxContents()
  }

  private struct OutboxHandle: OutboxStorage {
    let disk: SimulatedDisk
    let tenant: Tenant

    func contents(of scope: Scope) async throws -> OutboxContents {
      await disk.takeTimeWhatever()
      guard !disk.hasCrashed(tenant) else { throw FaultyPersistence.Crashed() }
      guard !disk.draws.chance(disk.faults.withLock(\.loadFailure)) else { throw Failed() }
      return try await disk.outboxPlatter.contents(of: scope)
    }

    func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      try await write { try await disk.outboxPlatter.commit(changes, in: scope) }
    }

    func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
      try await write { try await disk.outboxPlatter.claim(id, in: scope, by: process, now: now, until: until) }
    }

    func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      try await write { try await disk.outboxPlatter.release(id, in: scope, by: process) }
    }

    func removeAll(in scope: Scope?) async throws {
      try await write { try await disk.outboxPlatter.removeAll(in: scope) }
    }

    func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
      try await write { try await disk.outboxPlatter.removeAll(in: scope, keeping: ids) }
    }

    /// Writes before or after the latency, so that a crash in between finds it done or not.
    private func write<Value>(_ body: () async throws -> Value) async throws -> Value {
      guard !disk.hasCrashed(tenant) else { throw FaultyPersistence.Crashed() }
      let fails = disk.draws.chance(disk.faults.withLock(\.saveFailure))
      let early = !fails && disk.draws.chance(0.5) ? try await body() : nil
      await disk.takeTimeWhatever()
      guard !disk.hasCrashed(tenant) else { throw FaultyPersistence.Crashed() }
      guard !fails else { throw Failed() }
      if let early { return early }
      return try await body()
    }
  }
}
