package import Foundation
import Synchronization

/// What an inspector asks of a layer. Nothing of it is kept up while nobody asks.
extension ModelLayer {
  /// The keys that the layer's reactors have in memory, each once.
  package var keys: Set<RecordKey> { Set(core.livingMembers.flatMap(\.keys)) }

  /// What the reactors know of those of `keys` that they have in memory; several where models of several types share a key.
  package func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    core.livingMembers.flatMap { $0.statuses(of: keys) }
  }

  /// Lists the keys that change from now on.
  package func watchKeys() -> KeyWatch { core.changes.watch() }

  /// How many ``watchKeys()`` are not over.
  package var keyWatchers: Int { core.changes.watchers }

  /// As ``Reactor/invalidate(_:)``, for every model of the key.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the record could not be marked; memory is.
  package func invalidate(_ key: RecordKey) async throws(ReactorError) {
    let date = core.configuration.now()
    let ticket = core.generations.fenceAnswers(key)
    core.announce(.invalidated(key, date))
    try await core.change(ticket) { [core] in try await core.cache.invalidate(key, at: date) }
  }

  /// As ``Reactor/remove(_:)``, for every model of the key.
  ///
  /// - Throws: ``ReactorError/persistence(_:)`` where the record could not be deleted; memory is cleared.
  package func remove(_ key: RecordKey) async throws(ReactorError) {
    try await core.remove(key) { [core] in try await core.cache.remove(key) }
  }

  /// Asks the network for `key`, whatever is stored; what comes of it is an event. `false` where the key is not in memory.
  package func refetch(_ key: RecordKey) -> Bool {
    core.livingMembers.reduce(false) { $1.refetch(key) || $0 }
  }

  /// Whether requests fail as without connectivity, those to a loopback host too. Streams pause, and go on when it is off.
  package var isOffline: Bool {
    get { core.isOffline.load(ordering: .relaxed) }
    set {
      guard core.isOffline.exchange(newValue, ordering: .relaxed) != newValue, !newValue else { return }
      for member in core.livingMembers { member.wentOnline() }
    }
  }

  /// The configuration's wall clock.
  package var now: Date { core.configuration.now() }
}
