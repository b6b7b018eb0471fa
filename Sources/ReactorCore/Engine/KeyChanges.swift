import Synchronization

/// Which keys have changed in any way since each watcher looked last. With no watcher it costs one atomic load.
///
/// It is told under the lock of what has changed, and calls nobody.
final class KeyChanges: Sendable {
  private let isWatched = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var lastID = 0
    /// What each has not taken yet; `nil`: too much to list.
    var changed: [Int: Set<RecordKey>?] = [:]
  }

  /// How many keys are listed for a watcher that does not come.
  static let limit = 20_000

  /// How many watch.
  var watchers: Int { state.withLock { $0.changed.count } }

  func note(_ key: RecordKey) {
    guard isWatched.load(ordering: .relaxed) else { return }
    state.withLock { state in
      for id in state.changed.keys {
        guard case .some(.some(let keys)) = state.changed[id] else { continue }
        // In place: a copy of the set at each change would cost more than all the rest.
        if keys.count < Self.limit { state.changed[id]??.insert(key) } else { state.changed[id] = .some(nil) }
      }
    }
  }

  func watch() -> KeyWatch {
    let id = state.withLock { state in
      state.lastID += 1
      state.changed[state.lastID] = .some([])
      isWatched.store(true, ordering: .relaxed)
      return state.lastID
    }
    return KeyWatch(
      take: { [weak self] in self?.take(id) ?? [] },
      end: { [weak self] in self?.end(id) })
  }

  private func take(_ id: Int) -> Set<RecordKey>? {
    state.withLock { state in
      guard let changed = state.changed[id] else { return [] }
      state.changed[id] = .some([])
      return changed
    }
  }

  private func end(_ id: Int) {
    state.withLock { state in
      state.changed[id] = nil
      if state.changed.isEmpty { isWatched.store(false, ordering: .relaxed) }
    }
  }
}

/// One who watches the keys of a layer; it ends when it is released.
package final class KeyWatch: Sendable {
  private let taking: @Sendable () -> Set<RecordKey>?
  private let end: @Sendable () -> Void

  init(take: @escaping @Sendable () -> Set<RecordKey>?, end: @escaping @Sendable () -> Void) {
    taking = take
    self.end = end
  }

  deinit { end() }

  /// The keys that have changed since the last call; `nil` where they were too many to list.
  package func take() -> Set<RecordKey>? { taking() }
}
