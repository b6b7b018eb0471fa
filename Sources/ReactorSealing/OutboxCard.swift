#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorOutbox
  import Synchronization

  /// The card of an outbox's storage: an entry in a separate scope, which says under which key of
  /// the store everything is sealed.
  final class OutboxCard: Sendable {
    private enum State {
      case unread, right, noted
    }

    private let base: any OutboxStorage
    private let sealing: Sealing
    private let state = Mutex(State.unread)
    private static let id = UUID(uuid: (0x52, 0x53, 0x45, 0x41, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    init(_ base: any OutboxStorage, _ sealing: Sealing) { (self.base, self.sealing) = (base, sealing) }

    func forget() { state.withLock { $0 = .unread } }

    /// Returns the keys of the store, if it is sealed under them.
    ///
    /// - Parameter writes: A Boolean value that indicates whether the card is made if there is
    ///   none.
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, errors of the storage.
    func store(writes: Bool) async throws -> StoreKeys {
      let keys = try sealing.store()
      switch state.withLock({ $0 }) {
      case .noted: return keys
      case .right: break
      case .unread:
        let card = try await read(keys)
        state.withLock { $0 = card == nil ? .right : .noted }
        if card != nil { return keys }
      }
      guard writes else { return keys }
      let bytes = SealCard(store: keys.id).encoded(keys)
      do {
        _ = try await base.commit([.add(StoredEntry(id: Self.id, lane: "", bytes: bytes))], in: SealCard.scope)
      } catch OutboxStorageError.duplicateEntry {
        // Of another process, maybe under another key; or changed, and then it says nothing.
        _ = try await read(keys)
      }
      state.withLock { $0 = .noted }
      return keys
    }

    /// Returns the card; `nil` if there is none, or if it was changed.
    ///
    /// - Throws: ``SealingError/wrongStoreKey(stored:given:)``, errors of the storage.
    private func read(_ keys: StoreKeys) async throws -> SealCard? {
      for entry in try await base.contents(of: SealCard.scope).entries where entry.id == Self.id {
        return try SealCard(entry.bytes, keys)
      }
      return nil
    }
  }
#endif
