import Synchronization

/// Which keys have changed in any way since each watcher looked last. With no watcher it costs one atomic load.
///
/// It is told under the lock of what has changed, and calls nobody.
final class KeyChanges: Sendable {
  private let isWatched = Atomic<Bool>(false)
  private let state = Mutex(State())

  private struct State {
    var lastID = 0
    var watched: [Int: Changed] = [:]
  }

  /// What a watcher has not taken yet.
  private struct Changed {
    var keys: Set<RecordKey> = []
    var isTooMuch = false

    mutating func note(_ key: RecordKey) {
      guard !isTooMuch else { return }
      keys.insert(key)
      guard keys.count > KeyChanges.limit else { return }
      keys = []
      isTooMuch = true
    }
  }

  /// How many keys are listed for a watcher that does not come.
  static let limit = 20_000

  /// How many watch.
  var watchers: Int { state.withLock { $0.watched.count } }

  func note(_ key: RecordKey) {
    guard isWatched.load(ordering: .relaxed) else { return }
    state.withLock { state in
      for id in state.watched.keys { state.watched[id]?.note(key) }
    }
  }

  func watch() -> KeyWatch {
    let id = state.withLock { state in
      state.lastID += 1
      state.watched[state.lastID] = Changed()
      isWatched.store(true, ordering: .relaxed)
      return state.lastID
    }
    return KeyWatch(id, of: self)
  }

  fileprivate func take(_ id: Int) -> Set<RecordKey>? {
    let changed = state.withLock { state in
      defer { state.watched[id] = Changed() }
      return state.watched[id] ?? Changed()
    }
    return changed.isTooMuch ? nil : changed.keys
  }

  fileprivate func end(_ id: Int) {
    state.withLock { state in
      state.watched[id] = nil
      if state.watched.isEmpty { isWatched.store(false, ordering: .relaxed) }
    }
  }
}

/// One who watches the keys of a layer; it ends when it is released.
package final class KeyWatch: Sendable {
  private let id: Int
  private let changes: KeyChanges

  init(_ id: Int, of changes: KeyChanges) {
    self.id = id
    self.changes = changes
  }

  deinit { changes.end(id) }

  /// The keys that have changed since the last call; `nil` where they were too many to list.
  package func take() -> Set<RecordKey>? { changes.take(id) }
}
