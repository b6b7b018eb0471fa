#if Sealing
  public import Foundation
  import HTTPCaching
  public import ReactorCore
  public import ReactorOutbox

  /// A storage of an outbox whose entries are sealed, in any other storage.
  ///
  /// ```swift
  /// let storage = SealedOutboxStorage(FileOutboxStorage(directory: directory), sealing: sealing)
  /// let outbox = OutboxConfiguration(storage: storage, mutations: [AddPost.self])
  /// ```
  ///
  /// Lanes, bytes and ids from servers are sealed, and the names of scopes are HMACs. The storage
  /// beneath sees the random ids of entries and of what they create, numbers, leases and lengths.
  ///
  /// **A wrong or missing key** is a ``SealingError`` of each call that needs it. No entry is
  /// removed or left out for want of a key. **An entry that was changed** is left out and kept, and
  /// `OutboxContents.setAside` describes it.
  ///
  /// The storage takes no forms: a submission with `OutboxRequest.form` throws
  /// `OutboxStorageError.takesNoForms`. The methods never run on the caller's executor.
  public final class SealedOutboxStorage: OutboxStorage {
    let base: any OutboxStorage
    let sealing: Sealing
    let known = KnownEntries()
    let card: OutboxCard
    let gate = ResealGate<Scope>()

    /// Creates a storage over another. Nothing is read or written yet.
    public init(_ base: some OutboxStorage, sealing: Sealing) {
      self.base = base
      self.sealing = sealing
      card = OutboxCard(base, sealing)
    }

    /// Returns the entries of `scope` in the order of their numbers, their leases, and the ids from
    /// servers.
    ///
    /// - Throws: ``SealingError/missingKey(_:scope:)``,
    ///   ``SealingError/wrongStoreKey(stored:given:)``, errors of the key provider, errors of the
    ///   storage beneath.
    @concurrent public func contents(of scope: Scope) async throws -> OutboxContents {
      let name = try await card.store(writes: false).scope(scope)
      var contents = try await base.contents(of: name)
      var setAside: [String] = []
      contents.entries = try contents.entries.compactMap { stored in
        try unlessAltered(&setAside) { try SealedEntry.open(stored, of: scope, as: name, with: sealing) }
      }
      for (temporary, stored) in contents.identities {
        contents.identities[temporary] = try unlessAltered(&setAside) {
          try SealedEntry.openID(stored, of: temporary, in: scope, as: name, with: sealing)
        }
      }
      contents.setAside += setAside.sorted()
      return contents
    }

    /// Returns a Boolean value that indicates whether `scope` may have entries between two numbers.
    ///
    /// - Throws: As ``contents(of:)``.
    @concurrent public func mayHaveEntries(in scope: Scope, after: UInt64, before: UInt64) async throws -> Bool {
      let name = try await card.store(writes: false).scope(scope)
      return try await base.mayHaveEntries(in: name, after: after, before: before)
    }

    /// Applies `changes` in order, all or none, sealed with the current key of the scope.
    ///
    /// - Throws: `OutboxStorageError`; as ``contents(of:)``.
    @concurrent public func commit(_ changes: [OutboxChange], in scope: Scope) async throws -> [UInt64] {
      guard !changes.isEmpty else { return [] }
      let name = try await card.store(writes: true).scope(scope)
      let namesIDs = changes.contains { if case .identify = $0 { true } else { false } }
      guard namesIDs else { return try await gate.count { try await commit(changes, in: scope, as: name) } }
      return try await gate.write(name) { try await commit(changes, in: scope, as: name) }
    }

    /// Leases an entry to a process, and returns the entry.
    ///
    /// - Throws: As ``contents(of:)``. The entry is then leased.
    @concurrent public func claim(
      _ id: UUID, in scope: Scope, by process: UUID, now: Date, until: Date
    ) async throws -> StoredEntry? {
      let name = try await card.store(writes: false).scope(scope)
      guard let stored = try await base.claim(id, in: name, by: process, now: now, until: until) else { return nil }
      let entry = try SealedEntry.open(stored, of: scope, as: name, with: sealing)
      known.note(.init(entry: entry, stored: stored), in: scope)
      return entry
    }

    /// Releases the lease of `process`. Does nothing if it has none.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, errors of the key provider, errors
    ///   of the storage beneath.
    @concurrent public func release(_ id: UUID, in scope: Scope, by process: UUID) async throws {
      let name = try await card.store(writes: false).scope(scope)
      known.forget(id, in: scope)
      try await base.release(id, in: name, by: process)
    }

    /// Removes everything of `scope`, or of every scope if `scope` is `nil`.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)`` or errors of the key provider,
    ///   unless `scope` is `nil`; errors of the storage beneath.
    @concurrent public func removeAll(in scope: Scope?) async throws {
      known.forgetAll()
      try await gate.remove {
        if let scope { return try await base.removeAll(in: try await card.store(writes: false).scope(scope)) }
        card.forget()
        try await base.removeAll(in: nil)
        card.forget()
      }
    }

    /// Removes everything of `scope` but some entries.
    ///
    /// - Throws: As ``release(_:in:by:)``.
    @concurrent public func removeAll(in scope: Scope, keeping ids: Set<UUID>) async throws {
      known.forgetAll()
      let name = try await card.store(writes: false).scope(scope)
      try await gate.remove { try await base.removeAll(in: name, keeping: ids) }
    }

    private func unlessAltered<Value>(_ setAside: inout [String], _ body: () throws -> Value) throws -> Value? {
      do { return try body() } catch let error as SealingError {
        switch error {
        case .altered, .notSealed: setAside.append("\(error)")
        default: throw error
        }
        return nil
      }
    }
  }
#endif
