import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  /// Returns the state that a stream with this policy would show first, from memory alone.
  func current(_ resource: Resource, _ policy: FetchPolicy) -> LoadState<AnyModel> {
    guard resource.readsOnly, let key = try? flow.key(resource) else {
      return LoadState(error: unobservable(resource))
    }
    let now = now
    let snapshot = state.withLock { $0.snapshot(of: key, as: resource, policy, at: now) }
    return snapshot.map { loadState($0, for: resource) } ?? LoadState()
  }

  /// Opens a stream, which joins the key's flight if its policy needs one.
  ///
  /// - Parameters:
  ///   - polling: the polling interval. With `nil`, zero, a negative interval or `Duration.never`,
  ///     the stream does not poll.
  ///   - observer: who is called with the states; `nil` for a stream that asks for them.
  func subscribe(
    _ resource: Resource, _ policy: FetchPolicy, polling: Duration? = nil, observer: StateObserver? = nil
  ) throws(ReactorError) -> (RecordKey, FlightMachine.WaiterID) {
    if let error = unobservable(resource) { throw error }
    if policy != .cacheOnly, Refreshing.isUnderWay {
      throw .invalidResource(
        "a credential refresh cannot observe a resource of its own layer, whose request may wait for the refresh; use fetch(_:)"
      )
    }
    let key = try flow.key(resource)
    let (now, id) = (now, nextID())
    let interval = polling.flatMap { $0 > .zero && $0 < .never && policy != .cacheOnly ? $0 : nil }
    update { $0.subscribe(id, key, as: resource, policy, polling: interval, observer: observer, at: now) }
    return (key, id)
  }

  func notify(_ notices: [KeyState.Notice], of key: RecordKey) {
    var (due, latest) = ([StateObserver](), ObservedState?.none)
    due.reserveCapacity(notices.count)
    for notice in notices {
      let state =
        if let latest, latest.snapshot === notice.snapshot, latest.resource == notice.resource { latest } else {
          ObservedState(notice.snapshot, of: notice.resource, key, self)
        }
      latest = state
      if notice.observer.offer(state, notice.id) { due.append(notice.observer) }
    }
    observers.call(due)
  }

  /// Calls an observer with the error of a resource that has no states.
  func refuse(_ observer: StateObserver, _ resource: Resource, _ error: ReactorError) {
    let state = ObservedState(KeySnapshot(error: error), of: resource, nil, self)
    if observer.offer(state, 0) { observers.call([observer]) }
  }

  /// Ends a stream. A pending call of ``next(_:_:of:)`` returns `nil`.
  func unsubscribe(_ key: RecordKey, _ id: FlightMachine.WaiterID) { update { $0.unsubscribe(key, id) } }

  /// Returns the stream's current state, delivered before or not; `nil` after its end.
  func latest(_ key: RecordKey, _ id: FlightMachine.WaiterID, of resource: Resource) -> LoadState<AnyModel>? {
    state.withLock { $0.latest(key, id) }.map { loadState($0, for: resource) }
  }

  /// Returns the next revision that the stream has not seen; `nil` after its end. Cancelling the
  /// task ends the stream.
  func next(_ key: RecordKey, _ id: FlightMachine.WaiterID, of resource: Resource) async -> LoadState<AnyModel>? {
    let snapshot = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        update { $0.next(key, id, continuation) }
        if Task.isCancelled { unsubscribe(key, id) }
      }
    } onCancel: {
      unsubscribe(key, id)
    }
    return snapshot.map { loadState($0, for: resource) }
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

  func loadState(_ snapshot: KeySnapshot, for resource: Resource) -> LoadState<AnyModel> {
    let isFresh = snapshot.copy.flatMap { reader.rule.status(of: $0, for: resource, at: now)?.isFresh } ?? false
    var state = LoadState(
      value: snapshot.copy?.model, error: snapshot.error, fetchStatus: snapshot.fetchStatus, origin: snapshot.origin,
      fetchedAt: snapshot.copy?.fetchedAt, isStale: snapshot.copy != nil && !isFresh, progress: snapshot.progress,
      revision: snapshot.revision, valueRevision: snapshot.valueRevision)
    state.isRemoved = snapshot.isRemoved
    state.isInvalidated = snapshot.copy?.freshness.invalidatedAt != nil
    state.base = snapshot.copy.map { ObjectIdentifier($0.model.box) }
    if let output = snapshot.drafted?.output { state.show(output.model, drafts: snapshot.pending, output.pending) }
    return state
  }
}

extension LoadState<AnyModel> {
  /// Shows the value with its drafts. A value that no base has is local and stale.
  fileprivate mutating func show(_ model: AnyModel?, drafts pending: [Draft], _ entities: [Draft]) {
    if value == nil { (origin, isStale) = (.local, true) }
    if model == nil { (origin, fetchedAt, isStale) = (nil, nil, false) }
    value = model
    // A write may have several drafts of one key.
    for draft in pending where draft.id != drafts.last { drafts.append(draft.id) }
    for draft in entities where !drafts.contains(draft.id) { drafts.append(draft.id) }
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

  func add(to statistics: inout LayerStatistics) {
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

  /// Resumes paused flights. With `refreshes`, also requests observed keys that are stale or whose
  /// latest attempt failed.
  func reconnected(refreshes: Bool) {
    let now = now
    update { $0.reconnected(refreshes: refreshes, at: now) }
  }
}
