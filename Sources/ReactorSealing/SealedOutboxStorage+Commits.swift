#if Sealing
  import Foundation
  import ReactorCore
  import ReactorOutbox

  extension SealedOutboxStorage {
    /// Seals changes and commits them. A requirement names bytes that are open, and the storage
    /// beneath compares sealed ones. So each requirement becomes one of the bytes that are stored,
    /// if these are the same when they are opened.
    func commit(_ changes: [OutboxChange], in scope: Scope, as name: Scope) async throws -> [UInt64] {
      let keys = try await rightKeys(of: scope, name)
      var stored = known.entries(of: scope)
      var isFresh = false
      var failure = OutboxStorageError.changedEntry(UUID())
      // Each further attempt follows a change by somebody else.
      for _ in 0..<8 {
        var sealed = SealedChanges(keys, sealing, stored: stored)
        let missing = try sealed.seal(changes)
        if missing, !isFresh {
          stored = try await required(by: changes, name)
          isFresh = true
          continue
        }
        do {
          let numbers = try await base.commit(sealed.changes, in: name)
          known.note(sealed.written, removed: sealed.removed, in: scope)
          return numbers
        } catch OutboxStorageError.changedEntry(let id) where sealed.canHaveMoved(id) {
          // Sealed again meanwhile, or changed: only what is stored now tells.
          failure = .changedEntry(id)
          stored = try await required(by: changes, name)
          isFresh = true
        }
      }
      throw failure
    }

    /// Returns the keys of a scope, once one of them has sealed something of what is stored, or
    /// nothing is.
    ///
    /// - Throws: ``SealingError/missingKey(_:scope:)``, errors of the storage.
    private func rightKeys(of scope: Scope, _ name: Scope) async throws -> ScopeKeys {
      let keys = try sealing.keys(of: scope)
      guard known.isNew(keys.current.id, in: scope) else { return keys }
      let contents = try await base.contents(of: name)
      var ids = contents.entries.compactMap { stored in sealingID { try SealedEntry.keyID(of: stored) } }
      ids += contents.identities.compactMap { identity in
        sealingID { try SealedEntry.keyID(of: identity.value, identity.key) }
      }
      // One that was changed may have any id, so one that is right is enough.
      if let first = ids.first, !ids.contains(where: { keys[$0] != nil }) { _ = try sealing.key(first, of: scope) }
      known.noteRight(keys.current.id, in: scope)
      return keys
    }

    /// Returns the id of a key; `nil` for what was changed or never sealed.
    private func sealingID(_ body: () throws -> SealingKey.ID) -> SealingKey.ID? {
      do { return try body() } catch { return nil }
    }

    /// Returns the stored entries that changes require.
    private func required(by changes: [OutboxChange], _ name: Scope) async throws -> [UUID: StoredEntry] {
      var ids: Set<UUID> = []
      for case .require(let entry) in changes { ids.insert(entry.id) }
      var entries: [UUID: StoredEntry] = [:]
      for entry in try await base.contents(of: name).entries where ids.contains(entry.id) { entries[entry.id] = entry }
      return entries
    }
  }

  /// The changes of one commit while they are sealed.
  private struct SealedChanges {
    let keys: ScopeKeys
    let sealing: Sealing
    /// The stored entries that may be required.
    let stored: [UUID: StoredEntry]

    private(set) var changes: [OutboxChange]
    /// The entries that this commit has written so far, and those it has removed.
    private(set) var written: [UUID: KnownEntries.Entry]
    private(set) var removed: Set<UUID>
    private var required: Set<UUID>

    init(_ keys: ScopeKeys, _ sealing: Sealing, stored: [UUID: StoredEntry]) {
      self.keys = keys
      self.sealing = sealing
      self.stored = stored
      (changes, written, removed, required) = ([], [:], [], [])
    }

    /// - Returns: `true` if an entry is required that ``stored`` does not have.
    mutating func seal(_ changes: [OutboxChange]) throws -> Bool {
      var isMissing = false
      for change in changes {
        switch change {
        case .add(let entry): self.changes.append(.add(try write(entry)))
        case .update(let entry): self.changes.append(.update(try write(entry)))
        case .move(let entry): self.changes.append(.move(try write(entry)))
        case .remove(let id):
          removed.insert(id)
          written[id] = nil
          self.changes.append(.remove(id))
        case .identify(let temporary, let json):
          self.changes.append(.identify(temporary, try SealedEntry.sealID(json, of: temporary, with: keys)))
        case .require(let entry):
          let found = try find(entry)
          isMissing = isMissing || found == nil
          // No sealed entry is empty, so this requirement fails.
          self.changes.append(.require(found ?? StoredEntry(id: entry.id, lane: "", bytes: Data())))
        }
      }
      return isMissing
    }

    /// Returns `true` if the entry was required as it was stored before the commit.
    func canHaveMoved(_ id: UUID) -> Bool { required.contains(id) }

    private mutating func write(_ entry: StoredEntry) throws -> StoredEntry {
      let sealed = try SealedEntry.seal(entry, with: keys)
      written[entry.id] = KnownEntries.Entry(entry: entry, stored: sealed)
      removed.remove(entry.id)
      return sealed
    }

    /// Returns the stored form of an entry; `nil` if it is not stored so.
    private mutating func find(_ entry: StoredEntry) throws -> StoredEntry? {
      if let own = written[entry.id] { return own.entry.bytes == entry.bytes ? own.stored : Self.other(entry) }
      guard !removed.contains(entry.id), let stored = stored[entry.id] else { return nil }
      let opened = try SealedEntry.open(stored, of: keys.scope, as: keys.name, with: sealing)
      guard opened.bytes == entry.bytes else { return nil }
      required.insert(entry.id)
      return stored
    }

    private static func other(_ entry: StoredEntry) -> StoredEntry {
      StoredEntry(id: entry.id, lane: "", bytes: Data())
    }
  }
#endif
