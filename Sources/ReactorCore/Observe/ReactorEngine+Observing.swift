import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  /// Returns the state that a stream with this policy would show first, only from memory.
  func current(_ resource: Resource, _ policy: FetchPolicy) -> LoadState<AnyModel> {
    guard resource.readsOnly, let key = try? flow.key(resource) else {
      return LoadState(error: unobservable(resource))
    }
    let now = now
    let snapshot = state.withLock { $0.snapshot(of: key, as: resource, policy, at: now) }
    return snapshot.map { loadState($0) } ?? LoadState()
  }

  /// Opens a stream, which joins the key's flight if its policy needs one.
  ///
  /// - Parameters:
  ///   - polling: the polling interval. With `nil`, zero, a negative interval or `Duration.never`,
  ///     the stream does not poll.
  ///   - reader: who gets the states, the current one first.
  func subscribe(
    _ resource: Resource, _ policy: FetchPolicy, polling: Duration? = nil, _ reader: StateReader
  ) throws(ReactorError) -> RecordKey {
    if let error = unobservable(resource) { throw error }
    if policy != .cacheOnly, Refreshing.isUnderWay {
      throw .invalidResource(
        "a credential refresh cannot observe a resource of its own layer, whose request may wait for the refresh; use fetch(_:)"
      )
    }
    let key = try flow.key(resource)
    let now = now
    let interval = polling.flatMap { $0 > .zero && $0 < .never && policy != .cacheOnly ? $0 : nil }
    update { $0.subscribe(reader, key, as: resource, policy, polling: interval, at: now) }
    return key
  }

  /// Returns the states for the observers of `key` that are isolated to `actor` and have not
  /// received the latest. They then count as delivered.
  func takeOffers(of key: RecordKey, for actor: ObjectIdentifier?) -> [StateOffer<any StateObserving>] {
    state.withLock { $0.memory.entries[key]?.takeOffers(for: actor) ?? [] }
  }

  /// Calls an observer with the error of a resource that has no states.
  func refuse(_ observer: any StateObserving, _ resource: Resource, _ error: ReactorError) {
    observers.refuse(observer, KeySnapshot(nil, resource, error: error), self)
  }

  /// Ends a stream.
  func unsubscribe(_ key: RecordKey, _ id: FlightMachine.WaiterID) { update { $0.unsubscribe(key, id) } }

  /// Returns an observer's current state, which then counts as delivered; `nil` after its end.
  func latest(_ key: RecordKey, _ id: FlightMachine.WaiterID) -> KeySnapshot? {
    state.withLock { $0.latest(key, id) }
  }

  private func unobservable(_ resource: Resource) -> ReactorError? {
    guard resource.readsOnly else {
      return .invalidResource(
        "\(resource.method.rawValue) may change something, so it cannot be observed; set isReadOnly if it changes nothing"
      )
    }
    do { _ = try flow.key(resource) } catch { return error }
    return nil
  }

  func loadState(_ snapshot: KeySnapshot) -> LoadState<AnyModel> {
    let isFresh =
      snapshot.copy.flatMap { reader.rule.status(of: $0, for: snapshot.resource, at: now)?.isFresh } ?? false
    var state = LoadState(
      value: snapshot.copy?.model, error: snapshot.error, fetchStatus: snapshot.fetchStatus, origin: snapshot.origin,
      fetchedAt: snapshot.copy?.fetchedAt, isStale: snapshot.copy != nil && !isFresh, progress: snapshot.progress,
      revision: snapshot.revision, valueRevision: snapshot.valueRevision)
    state.isRemoved = snapshot.isRemoved
    state.isInvalidated = snapshot.copy?.freshness.invalidatedAt != nil
    state.base = snapshot.copy
    if let shown = snapshot.presented?.shown { state.show(shown, pending: snapshot.pending) }
    return state
  }
}

extension LoadState {
  /// The answer or the local value below the changes; `nil` without one.
  var copy: CachedModel? { base as? CachedModel }

  /// The instance that holds the model below the changes. A 304 keeps it.
  package var instance: (any AnyObject & Sendable)? { copy?.model.box }
}

extension LoadState<AnyModel> {
  /// Shows the value with the changes over it. A value that no base has is local and stale.
  fileprivate mutating func show(_ shown: Shown, pending: [UUID]) {
    if value == nil { (origin, isStale) = (.local, true) }
    if shown.model == nil { (origin, fetchedAt, isStale) = (nil, nil, false) }
    value = shown.model
    note(pending: pending, beside: shown.pending)
  }
}

extension ReactorEngine {
  var keys: [RecordKey] { state.withLock { Array($0.memory.entries.keys) } }

  func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    let now = now
    var statuses: [KeyStatus] = []
    for start in stride(from: 0, to: keys.count, by: Self.statusBatch) {
      let batch = keys[start..<min(start + Self.statusBatch, keys.count)]
      // In batches, so that no other thread waits long for the lock.
      statuses += state.withLock { state in batch.compactMap { state.keyStatus(of: $0, at: now) } }
    }
    return statuses
  }

  func add(to statistics: inout ModelLayer.Statistics) {
    let (models, bytes, evictions) = state.withLock { ($0.memory.models, $0.memory.bytes, $0.evictions) }
    statistics.memoryHitsByModel[name, default: 0] += reader.table.hitCount
    statistics.models += models
    statistics.bytes += bytes
    statistics.evictions += evictions
  }

  private static var statusBatch: Int { 128 }

  func refetch(_ key: RecordKey) -> Bool {
    let now = now
    return update { $0.refetch(key, at: now) }
  }

  func refreshStreams(olderThan age: Duration) {
    let now = now
    update { $0.refreshStreams(fetchedBefore: now - age.inSeconds, at: now) }
  }

  func evictUnused() { update { $0.evictUnused() } }

  func cancel(_ resource: Resource) {
    guard resource.readsOnly, let key = try? flow.key(resource) else { return }
    update { $0.cancelFlight(of: key) }
  }

  func wentOnline() { reconnected(refreshes: true) }

  func serverReturned() {
    let now = now
    update { $0.serverReturned(at: now) }
  }

  /// Resumes paused flights. With `refreshes`, also requests observed keys that are stale or whose
  /// latest attempt failed.
  func reconnected(refreshes: Bool) {
    let now = now
    update { $0.reconnected(refreshes: refreshes, at: now) }
  }
}
