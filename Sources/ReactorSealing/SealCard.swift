#if Sealing
  import Foundation
  import HTTPCaching
  import Synchronization

  /// A note in a store of the keys that its contents need.
  ///
  /// It is a header with the id of the store's key, the ids of the scope's keys, and a code under
  /// the store's key. A card is not sealed, so that a program with a wrong key can name the right
  /// one.
  struct SealCard: Equatable {
    var store: SealingKey.ID
    var keys: Set<SealingKey.ID> = []

    /// Returns the bytes, with a code under the key of the store.
    func encoded(_ keys: StoreKeys) -> Data {
      var bytes = SealFormat.header(.card, store)
      for id in self.keys.sorted(by: { $0.number < $1.number }) {
        withUnsafeBytes(of: id.number.bigEndian) { bytes.append(contentsOf: $0) }
      }
      return Data(bytes + keys.code(of: bytes))
    }

    init(store: SealingKey.ID, keys: Set<SealingKey.ID> = []) { (self.store, self.keys) = (store, keys) }

    /// Reads a card; `nil` for other bytes, and for a card that was changed.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, ``SealingError/newerFormat(_:)``.
    init?(_ bytes: Data, _ keys: StoreKeys) throws(SealingError) {
      let id: SealingKey.ID
      do { id = try SealFormat.keyID(of: bytes, .card, "") } catch {
        if case .newerFormat = error { throw error }
        return nil
      }
      guard id == keys.id else { throw .wrongStoreKey(stored: id, given: keys.id) }
      let count = bytes.count - SealFormat.headerLength - Self.codeLength
      guard count >= 0, count.isMultiple(of: 8) else { return nil }
      let content = [UInt8](bytes.dropLast(Self.codeLength))
      guard keys.code(of: content) == [UInt8](bytes.suffix(Self.codeLength)) else { return nil }
      store = id
      for start in stride(from: SealFormat.headerLength, to: content.count, by: 8) {
        self.keys.insert(SealingKey.ID(number: content[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }))
      }
    }

    private static let codeLength = 32
    /// The scope of all cards. No sealed name has this length.
    static let scope: Scope = "reactor-sealing-cards"
  }

  /// The cards of one persistence: one of the store, and one for each scope.
  ///
  /// A wrong key would find nothing under its names, and would save over what it cannot read. The
  /// cards turn both into errors. A store may evict a card; it is then made again of a listing.
  final class RecordCards: Sendable {
    private struct State {
      var isStoreRight = false
      var isStoreNoted = false
      var noted: [Scope: Set<SealingKey.ID>] = [:]
    }

    private let base: any Persistence
    private let sealing: Sealing
    private let state = Mutex(State())

    init(_ base: any Persistence, _ sealing: Sealing) { (self.base, self.sealing) = (base, sealing) }

    /// Forgets all cards, after a removal.
    func forget() { state.withLock { $0 = State() } }

    /// Returns the keys of the store, if it is sealed under them.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, errors of the store.
    func store() async throws -> StoreKeys {
      let keys = try sealing.store()
      guard !state.withLock({ $0.isStoreRight }) else { return keys }
      let isNoted = try await card(Self.storeKey, keys) != nil
      if !isNoted {
        for entry in try await base.entries(in: nil, url: nil) {
          guard let label = try await boxes(of: entry)?.label else { continue }
          let id = try SealFormat.keyID(of: label, .label, "the name of a scope")
          guard id == keys.id else { throw SealingError.wrongStoreKey(stored: id, given: keys.id) }
        }
      }
      state.withLock { ($0.isStoreRight, $0.isStoreNoted) = (true, isNoted) }
      return keys
    }

    /// Returns the keys of a scope, once the cards say that the current one may have sealed
    /// something.
    ///
    /// - Parameter isRead: Pass `true` to read the keys from the provider again.
    /// - Throws: ``SealingError/missingKey(_:scope:)`` if the provider lacks a key that has sealed
    ///   something; errors of the store.
    func keys(of scope: Scope, read isRead: Bool = false) async throws -> ScopeKeys {
      let store = try await store()
      var keys = try sealing.keys(of: scope, read: isRead)
      if let noted = state.withLock({ $0.noted[scope] }), noted.contains(keys.current.id),
        noted.isSubset(of: keys.ids)
      {
        return keys
      }
      let stored = try await noted(scope, store)
      if !stored.isSubset(of: keys.ids) { keys = try sealing.keys(of: scope, read: true) }
      if let missing = stored.subtracting(keys.ids).first { throw SealingError.missingKey(missing, scope: scope) }
      try await note(stored.union([keys.current.id]), of: keys, unless: stored)
      return keys
    }

    /// Notes that only the current key is needed, after everything was sealed with it.
    func noteCurrent(of keys: ScopeKeys) async throws { try await note([keys.current.id], of: keys, unless: []) }

    /// Removes the card of a scope.
    func remove(_ name: Scope, of scope: Scope) async throws {
      state.withLock { $0.noted[scope] = nil }
      if let key = Self.key(of: name) { try await base.remove(key) }
    }

    /// Returns the sealed parts of an entry; `nil` for one that is not sealed.
    func boxes(of entry: Record.Entry) async throws -> SealedRecord.Boxes? {
      guard entry.key.url.hasPrefix(StoreKeys.urlPrefix), entry.key.scope != SealCard.scope else { return nil }
      if let groups = entry.groups { return SealedRecord.Boxes(groups) }
      do { return try await base.load(entry.key).flatMap { SealedRecord.Boxes($0.head.groups) } } catch is Record
        .Failure
      {
        return nil
      }
    }
  }

  extension RecordCards {
    private static let storeKey = StoreKeys.key(SealCard.scope, "\(StoreKeys.urlPrefix)card", digest: "none")

    private static func key(of name: Scope) -> RecordKey? {
      StoreKeys.key(SealCard.scope, "\(StoreKeys.urlPrefix)card", digest: name.name)
    }

    /// Returns the ids of the keys that may have sealed something of the scope.
    private func noted(_ scope: Scope, _ store: StoreKeys) async throws -> Set<SealingKey.ID> {
      let name = store.scope(scope)
      if let card = try await card(Self.key(of: name), store) { return card.keys }
      var ids: Set<SealingKey.ID> = []
      for entry in try await base.entries(in: name, url: nil) {
        guard let summary = try await boxes(of: entry)?.summary else { continue }
        ids.insert(try SealFormat.keyID(of: summary, .summary, "a record"))
      }
      return ids
    }

    private func note(_ ids: Set<SealingKey.ID>, of keys: ScopeKeys, unless stored: Set<SealingKey.ID>) async throws {
      let store = try sealing.store()
      if !state.withLock({ $0.isStoreNoted }) {
        try await save(SealCard(store: store.id), Self.storeKey, store)
        state.withLock { $0.isStoreNoted = true }
      }
      // Also where it is as it was: a card that is made of a listing was evicted.
      if ids != stored || state.withLock({ $0.noted[keys.scope] == nil }) {
        try await save(SealCard(store: store.id, keys: ids), Self.key(of: keys.name), store)
      }
      state.withLock { $0.noted[keys.scope] = ids }
    }

    private func card(_ key: RecordKey?, _ store: StoreKeys) async throws -> SealCard? {
      guard let key else { return nil }
      do {
        guard let record = try await base.load(key) else { return nil }
        return try SealCard(record.body, store)
      } catch is Record.Failure {
        // Damaged; it is made again.
        return nil
      }
    }

    private func save(_ card: SealCard, _ key: RecordKey?, _ store: StoreKeys) async throws {
      guard let key else { return }
      let time = Date(timeIntervalSinceReferenceDate: 0)
      let head = Record.Head(identity: key.identity, status: .ok, fields: [:], requestedAt: time, receivedAt: time)
      try await base.save(Record(head: head, body: card.encoded(store)), for: key)
    }
  }
#endif
