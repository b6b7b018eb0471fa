package import Foundation
import Synchronization

/// What an inspector asks of a layer. Nothing of it is kept up while nobody asks.
extension ModelLayer {
  /// The keys that the layer's reactors have in memory, each once.
  package var keys: Set<RecordKey> { Set(layer.livingMembers.flatMap(\.keys)) }

  /// What the reactors know of those of `keys` that they have in memory; several where models of several types share a key.
  package func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    layer.livingMembers.flatMap { $0.statuses(of: keys) }
  }

  /// Lists the keys that change from now on.
  package func watchKeys() -> KeyWatch { layer.changes.watch() }

  /// How many ``watchKeys()`` are not over.
  package var keyWatchers: Int { layer.changes.watchers }

  /// As ``Reactor/invalidate(_:)``, for every model of the key.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the record could not be marked; memory is.
  package func invalidate(_ key: RecordKey) async throws(ReactorError) {
    let date = layer.configuration.now()
    let ticket = layer.generations.beginInvalidation(key)
    layer.announce(.invalidated(key, date))
    try await layer.change(ticket) { [layer] in try await layer.cache.invalidate(key, at: date) }
  }

  /// As ``Reactor/remove(_:)``, for every model of the key.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the record could not be deleted; memory is cleared.
  package func remove(_ key: RecordKey) async throws(ReactorError) {
    try await layer.remove(key) { [layer] in try await layer.cache.remove(key) }
  }

  /// Asks the network for `key`, whatever is stored; what comes of it is an event. `false` where the key is not in memory.
  package func refetch(_ key: RecordKey) -> Bool {
    layer.livingMembers.reduce(false) { $1.refetch(key) || $0 }
  }

  /// A Boolean value that indicates whether requests fail as without connectivity, those to a
  /// loopback host too. Streams pause, and go on when it is off.
  package var isOffline: Bool {
    get { layer.isOffline.load(ordering: .relaxed) }
    set {
      guard layer.isOffline.exchange(newValue, ordering: .relaxed) != newValue, !newValue else { return }
      for member in layer.livingMembers { member.wentOnline() }
    }
  }

  /// The configuration's wall clock.
  package var now: Date { layer.configuration.now() }
}

/// What one reactor knows of one key at a moment: for an inspector. It holds no model.
package struct KeyStatus: Sendable {
  package enum Condition: String, Sendable, CaseIterable {
    case fresh, stale, invalidated
    /// There is no copy in memory.
    case absent
    /// There is no copy in memory, and the latest attempt failed.
    case failed
  }

  package let key: RecordKey
  /// The name of the model's type.
  package let model: String
  package let condition: Condition
  package let origin: Origin?
  package let fetchedAt: Date?
  /// Seconds that count against ``lifetime`` (RFC 9111 §4.2.3).
  package let age: Double?
  /// Seconds for which the copy is fresh in all.
  package let lifetime: Double?
  /// Of payload.
  package let bytes: Int
  /// Open streams.
  package let observers: Int
  /// Callers that wait for the flight.
  package let waiters: Int
  /// What the flight does; `nil` where none is under way.
  package let phase: FlightPhase?
  /// Of the latest attempt.
  package let error: ReactorError?
}

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

  fileprivate func consume(_ id: Int) -> Set<RecordKey>? {
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
  package func consume() -> Set<RecordKey>? { changes.consume(id) }
}
