public import Foundation
public import ReactorCore
import Synchronization

/// A store in memory. Its entries are gone with the process.
///
/// ```swift
/// let outbox = OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [AddPost.self])
/// ```
public final class MemoryOutboxStorage: OutboxStorage {
  private struct State {
    var tables: [Scope: OutboxTable] = [:]
    var forms: [Scope: [UUID: EncodedForm]] = [:]
    /// The copies whose entries are about to be added.
    var claims: [UUID: Held] = [:]
  }

  private struct Held {
    weak var claim: Claim?
  }

  /// The claim of the submission that is about to add an entry.
  private final class Claim: Sendable {}

  private let state = Mutex(State())

  /// Creates an empty store.
  public init() {}

  /// Returns the entries of `scope`, their leases and the ids from servers. Never throws.
  public func contents(of scope: Scope) async throws -> OutboxContents {
    state.withLock { $0.tables[scope]?.contents ?? OutboxContents() }
  }

  /// Applies `changes` in order, all or none.
  ///
  /// - Throws: ``OutboxStorageError``.
  public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    let numbers = try state.withLock { state in
      let (steps, numbers) = try state.tables[scope, default: OutboxTable()].steps(for: changes)
      for case .add(let entry) in changes where state.claims[entry.id]?.claim != nil {
        guard state.forms[scope]?[entry.id] != nil else { throw FormStorageError.removed }
      }
      for step in steps { state.tables[scope, default: OutboxTable()].apply(step) }
      if state.tables[scope]?.hasOldIDs == true { state.tables[scope]?.removeOldIDs() }
      return numbers
    }
    for case .remove(let id) in changes { removeForm(of: id, in: scope) }
    return numbers
  }

  /// Leases an entry to a process, and returns the entry. Never throws.
  public func claim(
    _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
  ) async throws -> StoredEntry? {
    state.withLock { state in
      guard let claim = state.tables[scope]?.claim(id, by: process, now: now, until: until) else { return nil }
      state.tables[scope]?.apply(claim.step)
      return claim.entry
    }
  }

  /// Ends the lease of `process`. Never throws.
  public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    state.withLock { state in
      if let step = state.tables[scope]?.release(id, by: process) { state.tables[scope]?.apply(step) }
    }
  }

  /// Removes everything of `scope`, or of every scope if `scope` is `nil`. Never throws.
  public func removeAll(in scope: Scope?) async throws {
    let forms = state.withLock { state in
      guard let scope else {
        defer { (state.tables, state.forms) = ([:], [:]) }
        return Array(state.forms.values)
      }
      state.tables[scope] = nil
      return [state.forms.removeValue(forKey: scope) ?? [:]]
    }
    // Released outside of the lock, since that frees much memory.
    withExtendedLifetime(forms) {}
  }

  /// Removes everything of `scope` but some entries. Never throws.
  public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    try await removeAll(in: scope, keeping: ids) { [] }
  }
}

extension MemoryOutboxStorage: FormStorage {
  package func keep(
    _ form: MultipartForm, for id: UUID, in scope: Scope, unless isUnwanted: @escaping @Sendable () -> Bool
  ) async throws -> KeptForm {
    let encoded = try await EncodedForm.encoding(form)
    let claim = Claim()
    state.withLock { state in
      state.claims = state.claims.filter { $0.value.claim != nil }
      state.claims[id] = Held(claim: claim)
      state.forms[scope, default: [:]][id] = encoded
    }
    // A removal that begins after this finds the form.
    guard !isUnwanted() else {
      removeForm(of: id, in: scope)
      throw FormStorageError.removed
    }
    return KeptForm(contentType: encoded.contentType, holding: claim) { [weak self] in
      self?.removeForm(of: id, in: scope)
    }
  }

  package func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    guard let encoded = state.withLock({ $0.forms[scope]?[id] }) else { throw FormStorageError.noForm }
    return encoded
  }

  package func removeAll(
    in scope: Scope, keeping ids: Set<UUID>, andCopiesOf copies: @escaping @Sendable () -> Set<UUID>
  ) async throws {
    // Nothing is listed that begins later.
    let listed = state.withLock { Set($0.forms[scope]?.keys.map(\.self) ?? []) }
    let gone = listed.subtracting(ids).subtracting(copies())
    let forms = state.withLock { state in
      state.tables[scope] = state.tables[scope]?.keeping(ids)
      return gone.map { state.forms[scope]?.removeValue(forKey: $0) }
    }
    withExtendedLifetime(forms) {}
  }

  private func removeForm(of id: UUID, in scope: Scope) {
    // Released outside of the lock, as above.
    _ = state.withLock { $0.forms[scope]?.removeValue(forKey: id) }
  }
}
