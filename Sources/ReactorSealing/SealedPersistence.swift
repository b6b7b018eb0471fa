#if Sealing
  import Foundation
  public import HTTPCaching

  /// A persistence whose records are sealed, in any other persistence.
  ///
  /// ```swift
  /// let persistence = SealedPersistence(
  ///   FilePersistence(directory: records), sealing: Sealing(keys: FileSealingKeys(directory:
  ///   keys)))
  /// ```
  ///
  /// The store beneath sees HMACs for the names of scopes, URLs and records, and sealed bytes.
  /// Everything that it does, it does for sealed records: limits, eviction, synchronization.
  ///
  /// **A wrong or missing key** is a ``SealingError`` of each call that needs it. Nothing is
  /// removed, and nothing is saved over what cannot be read. ``remove(_:)`` and ``removeAll(in:)``
  /// need only the key of the store, and `removeAll(in: nil)` needs none.
  ///
  /// **A record that was changed** makes ``load(_:)`` throw ``SealingError/altered(_:)``, which is
  /// a miss.
  ///
  /// Use a separate directory or database for the sealed store. Records that are not sealed are
  /// not found. The asynchronous methods never run on the caller's executor.
  public final class SealedPersistence: Persistence {
    let base: any Persistence
    let sealing: Sealing
    let cards: RecordCards
    let gate = ResealGate<RecordKey>()

    /// Creates a persistence over another. Nothing is read or written yet.
    public init(_ base: some Persistence, sealing: Sealing) {
      self.base = base
      self.sealing = sealing
      cards = RecordCards(base, sealing)
    }

    /// Returns the record that was last saved under `key`, or `nil` if nothing is stored.
    ///
    /// - Throws: ``SealingError``, errors of the key provider, errors of the store beneath.
    @concurrent public func load(_ key: RecordKey) async throws -> Record? {
      let name = try name(of: key, in: try await cards.store())
      guard let stored = try await base.load(name) else { return nil }
      return try SealedRecord(stored, "the record of \(key)").record(of: key, as: name, with: sealing)
    }

    /// Saves `record` in place of an earlier one, sealed with the current key of its scope.
    ///
    /// - Throws: `Record.Failure.wrongKey`; ``SealingError``, errors of the key provider, errors of
    ///   the store beneath. The earlier record is then unchanged.
    @concurrent public func save(_ record: Record, for key: RecordKey) async throws {
      guard record.belongs(to: key) else { throw Record.Failure.wrongKey }
      let name = try name(of: key, in: try await cards.store())
      try await gate.write(name) {
        let keys = try await cards.keys(of: key.scope)
        try await base.save(try SealedRecord(record, for: key, as: name, with: keys).stored, for: name)
      }
    }

    /// Removes the record of `key`. Does nothing if nothing is stored.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, errors of the key provider, errors
    ///   of the store beneath.
    @concurrent public func remove(_ key: RecordKey) async throws {
      let name = try name(of: key, in: try await cards.store())
      try await gate.write(name) { try await base.remove(name) }
    }

    /// Removes every record of `scope`, or of every scope if `scope` is `nil`.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)`` or errors of the key provider,
    ///   unless `scope` is `nil`; errors of the store beneath.
    @concurrent public func removeAll(in scope: Scope?) async throws {
      try await gate.remove {
        guard let scope else {
          cards.forget()
          try await base.removeAll(in: nil)
          return cards.forget()
        }
        let name = try await cards.store().scope(scope)
        try await base.removeAll(in: name)
        try await cards.remove(name, of: scope)
      }
    }

    /// Returns the stored records, except records that were changed.
    ///
    /// - Throws: ``SealingError/missingKey(_:scope:)`` if one of them cannot be opened: an
    ///   invalidation must not miss it. Errors of the key provider, errors of the store beneath.
    @concurrent public func entries(in scope: Scope?, url: String?) async throws -> [Record.Entry] {
      let store = try await cards.store()
      var entries: [Record.Entry] = []
      for entry in try await base.entries(in: scope.map(store.scope), url: url.map(store.url)) {
        guard let boxes = try await cards.boxes(of: entry) else { continue }
        do {
          let opened = try open(entry, boxes, of: scope, in: store)
          if url.map(opened.key.isOf) ?? true { entries.append(opened) }
        } catch SealingError.altered, SealingError.notSealed {
          // Neither can its record be loaded, whose seal includes this one.
          continue
        }
      }
      return entries
    }

    /// Returns a key that is derived from the key of the store, or `nil` if that cannot be read.
    public func secretKey() -> RecordKey.SecretKey? {
      do { return try sealing.store().secretKey } catch { return nil }
    }
  }

  extension SealedPersistence {
    func name(of key: RecordKey, in store: StoreKeys) throws -> RecordKey {
      guard let name = store.key(key, in: store.scope(key.scope)) else { throw Record.Failure.wrongKey }
      return name
    }

    /// Opens the summary of an entry.
    func open(
      _ entry: Record.Entry, _ boxes: SealedRecord.Boxes, of scope: Scope?, in store: StoreKeys
    ) throws -> Record.Entry {
      let scope = try scope ?? sealing.scope(named: entry.key.scope, boxes.label)
      let what = "the head of a record of \(scope)"
      let content = try SealFormat.open(
        boxes.summary, .summary, at: [Array(entry.key.identity.utf8)], what
      ) { try sealing.key($0, of: scope) }
      let summary = try SealedRecord.Summary(encoded: [UInt8](content))
      guard let key = RecordKey(identity: summary.identity), store.key(key, in: entry.key.scope) == entry.key else {
        throw SealingError.altered(what)
      }
      return Record.Entry(
        key: key, size: entry.size, fetchedAt: summary.fetchedAt, lastUsedAt: entry.lastUsedAt,
        freshUntil: summary.freshUntil, groups: summary.groups)
    }
  }
#endif
