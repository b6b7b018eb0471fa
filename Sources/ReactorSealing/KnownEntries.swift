#if Sealing
  import Foundation
  import HTTPCaching
  import ReactorOutbox
  import Synchronization

  /// The stored forms of entries that this process has claimed or written lately, so that a commit
  /// need not read them. Each commit compares them with what is stored.
  final class KnownEntries: Sendable {
    struct Entry: Sendable {
      var entry: StoredEntry
      var stored: StoredEntry
    }

    fileprivate struct State {
      var stored: [Scope: [UUID: StoredEntry]] = [:]
      var size = 0
      /// The current keys that belong to what is stored.
      var right: [Scope: SealingKey.ID] = [:]
    }

    private let state = Mutex(State())
    /// The bytes that are kept.
    private static let limit = 4 << 20

    /// Returns `true` until a current key was compared with what is stored.
    func isNew(_ key: SealingKey.ID, in scope: Scope) -> Bool { state.withLock { $0.right[scope] != key } }
    func noteRight(_ key: SealingKey.ID, in scope: Scope) { state.withLock { $0.right[scope] = key } }

    func entries(of scope: Scope) -> [UUID: StoredEntry] { state.withLock { $0.stored[scope] ?? [:] } }

    func note(_ entry: Entry, in scope: Scope) { note([entry.entry.id: entry], removed: [], in: scope) }

    func note(_ entries: [UUID: Entry], removed: Set<UUID>, in scope: Scope) {
      state.withLock { state in
        for id in removed { state.remove(id, in: scope) }
        for (id, entry) in entries {
          state.remove(id, in: scope)
          state.stored[scope, default: [:]][id] = entry.stored
          state.size += entry.stored.bytes.count
        }
        if state.size > Self.limit { (state.stored, state.size) = ([:], 0) }
      }
    }

    func forget(_ id: UUID, in scope: Scope) { state.withLock { $0.remove(id, in: scope) } }
    func forgetAll() { state.withLock { $0 = State() } }
  }

  extension KnownEntries.State {
    fileprivate mutating func remove(_ id: UUID, in scope: Scope) {
      size -= stored[scope]?.removeValue(forKey: id)?.bytes.count ?? 0
    }
  }
#endif
