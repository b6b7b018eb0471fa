import Foundation
public import ReactorCore
public import ReactorOutbox
import ReactorTesting
import Synchronization

extension SimulatedDisk {
  /// Returns the outbox on the disk for one process, until that process crashes.
  ///
  /// A commit in flight at a crash is there whole afterwards, or not at all. A commit that fails
  /// has changed nothing. The outbox takes forms, whose copies survive as its entries do.
  public func openOutbox() -> some OutboxStorage { openOutbox(in: nil) }

  /// Returns the outbox on the disk for a process that may also crash by itself.
  ///
  /// - Parameter store: A real store whose calls take time and fail; `nil` for the disk's own, in
  ///   memory.
  package func openOutbox(in process: SimulatedProcess?, over store: (any FormStorage)? = nil) -> some FormStorage {
    OutboxHandle(disk: self, tenant: tenant(process), store: store ?? outboxPlatter)
  }

  /// Returns the part of the outbox that belongs to a scope, without latency and faults.
  public func outboxContents(of scope: Scope) async -> OutboxContents {
    // A store in memory never throws.
    (try? await outboxPlatter.contents(of: scope)) ?? OutboxContents()
  }

  private struct OutboxHandle: FormStorage {
    let disk: SimulatedDisk
    let tenant: Tenant
    let store: any FormStorage

    func contents(of scope: Scope) async throws -> OutboxContents {
      try await read { try await store.contents(of: scope) }
    }

    func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      try await write { try await store.commit(changes, in: scope) }
    }

    func claim(_ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date) async throws -> StoredEntry? {
      try await write { try await store.claim(id, in: scope, by: process, now: now, until: until) }
    }

    func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      try await write { try await store.release(id, in: scope, by: process) }
    }

    func removeAll(in scope: Scope?) async throws {
      try await write { try await store.removeAll(in: scope) }
    }

    func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
      try await write { try await store.removeAll(in: scope, keeping: ids) }
    }

    func removeAll(
      in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
    ) async throws {
      try await write { try await store.removeAll(in: scope, keeping: ids, andCopiesOf: copies) }
    }

    func keep(
      _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
    ) async throws -> KeptForm {
      try await write { try await store.keep(form, for: id, in: scope, unless: isUnwanted) }
    }

    func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
      try await read { try await store.form(of: id, in: scope, contentType: contentType) }
    }

    private func read<Value>(_ body: () async throws -> Value) async throws -> Value {
      await disk.takeTimeWhatever()
      guard !disk.hasCrashed(tenant) else { throw FaultyPersistence.Crashed() }
      guard !disk.draws.chance(disk.faults.withLock(\.loadFailure)) else { throw Failed() }
      return try await body()
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
