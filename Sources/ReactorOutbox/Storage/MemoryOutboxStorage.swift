public import Foundation
public import ReactorCore
import Synchronization

/// A store in memory. Its entries are gone with the process.
///
/// ```swift
/// let outbox = OutboxConfiguration(storage: MemoryOutboxStorage(), mutations: [AddPost.self])
/// ```
public final class MemoryOutboxStorage: OutboxStorage {
  private let tables = Mutex<[Scope: OutboxTable]>([:])
  private let forms = Mutex<[Scope: [UUID: HeldForm]]>([:])

  /// Creates an empty store.
  public init() {}

  /// Returns the entries of `scope`, their leases and the ids from servers. Never throws.
  public func contents(of scope: Scope) async throws -> OutboxContents {
    tables.withLock { $0[scope]?.contents ?? OutboxContents() }
  }

  /// Applies `changes` in order, all or none.
  ///
  /// - Throws: ``OutboxStorageError``.
  public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
    let numbers = try tables.withLock { tables throws(OutboxStorageError) in
      let (steps, numbers) = try tables[scope, default: OutboxTable()].steps(for: changes)
      for step in steps { tables[scope, default: OutboxTable()].apply(step) }
      if tables[scope]?.hasOldIDs == true { tables[scope]?.removeOldIDs() }
      return numbers
    }
    for case .remove(let id) in changes { removeForm(of: id, in: scope) }
    return numbers
  }

  /// Leases an entry to a process, and returns the entry. Never throws.
  public func claim(
    _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
  ) async throws -> StoredEntry? {
    tables.withLock { tables in
      guard let claim = tables[scope]?.claim(id, by: process, now: now, until: until) else { return nil }
      tables[scope]?.apply(claim.step)
      return claim.entry
    }
  }

  /// Ends the lease of `process`. Never throws.
  public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
    tables.withLock { tables in
      if let step = tables[scope]?.release(id, by: process) { tables[scope]?.apply(step) }
    }
  }

  /// Removes everything of `scope`, or of every scope if `scope` is `nil`. Never throws.
  public func removeAll(in scope: Scope?) async throws {
    tables.withLock { tables in
      guard let scope else { return tables.removeAll() }
      tables[scope] = nil
    }
    removeForms { $0 == scope || scope == nil }
  }

  /// Removes everything of `scope` but some entries. Never throws.
  public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
    tables.withLock { $0[scope] = $0[scope]?.keeping(ids) }
    removeForms(keeping: ids) { $0 == scope }
  }
}

extension MemoryOutboxStorage: FormStorage {
  /// The claim of the submission that is about to add an entry.
  private final class Claim: Sendable {}

  private struct HeldForm {
    let encoded: EncodedForm
    weak var claim: Claim?
  }

  package func keep(_ form: MultipartForm, for id: UUID, in scope: Scope) async throws -> KeptForm {
    let encoded = try await EncodedForm.encoding(form)
    let claim = Claim()
    forms.withLock { $0[scope, default: [:]][id] = HeldForm(encoded: encoded, claim: claim) }
    return KeptForm(contentType: encoded.contentType, holding: claim) { [weak self] in
      self?.removeForm(of: id, in: scope)
    }
  }

  package func form(of id: UUID, in scope: Scope, contentType: String) async throws -> EncodedForm {
    guard let encoded = forms.withLock({ $0[scope]?[id]?.encoded }) else { throw FormStorageError.noForm }
    return encoded
  }

  private func removeForm(of id: UUID, in scope: Scope) {
    // Released outside of the lock, since that frees much memory.
    _ = forms.withLock { $0[scope]?.removeValue(forKey: id) }
  }

  /// Removes the forms of some scopes, but those of `ids` and those whose entries are about to be
  /// added: a submission removes its own if it fails.
  private func removeForms(keeping ids: Set<UUID> = [], of isMeant: (Scope) -> Bool) {
    forms.withLock { forms in
      for scope in forms.keys where isMeant(scope) {
        forms[scope] = forms[scope]?.filter { ids.contains($0.key) || $0.value.claim != nil }
      }
    }
  }
}
