import HTTPCaching
import ReactorCore
import Synchronization

/// The effects of a change: marks, and requests of observed keys.
extension LiveUpdates {
  /// The time for which a write can hold a request back.
  static let patience: Duration = .seconds(10)

  /// - Parameter removals: the removals of everything before the change.
  func mark(_ change: LiveChange, _ spread: Duration, at time: Duration, _ removals: Int) {
    guard let layer else { return }
    guard change.value == nil else { return apply(change, spread, layer, removals) }
    layer.mark(ToldChange(change.set, tags: change.tags), by: change.by)
    // Since a removal, what is in memory is another user's.
    if change.isGone, isLatest(removals), change.set.urls.allSatisfy({ layer.forgetGone($0, by: change.by) }) {
      return
    }
    request(change, spread, layer, at: time)
  }

  private func request(_ change: LiveChange, _ spread: Duration, _ layer: LayerContext, at time: Duration) {
    if let id = change.by {
      let held = HeldChange(set: change.set, id: id, until: time + Self.patience)
      if hold(held, while: { layer.awaitsAnswer(to: id) }) { return }
    }
    let factor = layer.configuration.lowPower.source.isOn ? 4.0 : 1
    let wait = spread * random.share() * factor
    guard wait > .zero else { return enqueue(change.set, at: time) }
    state.withLock { $0.spread(change.set, until: time + wait) }
  }

  /// Holds a change back while a write is under way.
  ///
  /// - Returns: `false` if the write is over.
  private func hold(_ change: HeldChange, while isWriting: () -> Bool) -> Bool {
    while true {
      let ends = state.withLock(\.held.ends)
      guard isWriting() else { return false }
      if state.withLock({ $0.held.hold(change, since: ends) }) { return true }
    }
  }

  /// Queues what is observed of `set`.
  ///
  /// - Parameter limit: the time until which a write may hold it back.
  func enqueue(_ set: KeySet, at time: Duration, until limit: Duration? = nil) {
    guard let layer else { return }
    let keys = layer.outdatedStreams(in: set)
    var written: Set<RecordKey> = []
    for key in keys {
      // The answer to a write requests its URL.
      let held = HeldChange(set: KeySet(urls: [key.url]), id: nil, until: limit ?? time + Self.patience)
      if hold(held, while: { layer.isBeingWritten(key.url) }) { written.insert(key) }
    }
    state.withLock { $0.queue.add(keys.filter { !written.contains($0) }, at: time) }
  }

  /// Requests what has waited for a write.
  ///
  /// - Parameter afterWrite: `true` if a write is over.
  func releaseHeld(at time: Duration, afterWrite: Bool = false) {
    guard let layer else { return }
    for change in state.withLock({ afterWrite ? $0.held.writeEnded() : $0.held.take(at: time) }) {
      if change.until <= time {
        let keys = layer.outdatedStreams(in: change.set)
        state.withLock { $0.queue.add(keys, at: time) }
      } else if let id = change.id, hold(change, while: { layer.awaitsAnswer(to: id) }) {
        continue
      } else {
        enqueue(change.set, at: time, until: change.until)
      }
    }
  }

  /// Applies a value after the earlier ones. The place in the history waits for it.
  private func apply(_ change: LiveChange, _ spread: Duration, _ layer: LayerContext, _ removals: Int) {
    guard let value = change.value else { return }
    let told = layer.begin(value)
    // Since a removal, what is in memory is another user's.
    guard isLatest(removals) else { return }
    guard !told.isVoid else {
      layer.mark(ToldChange(change.set, tags: change.tags), of: told)
      return request(change, spread, layer, at: elapsed())
    }
    let earlier = state.withLock { state in
      state.saving.beginPerforming()
      return state.applying
    }
    let task = spawnApart(on: executor) { [weak self] in
      await earlier?.value
      if self?.isLatest(removals) == true { await told.finish() }
      guard let self else { return }
      if let layer = self.layer, isLatest(removals) {
        layer.mark(ToldChange(change.set, tags: change.tags), of: told)
        request(change, spread, layer, at: elapsed())
      }
      state.withLock { $0.saving.performed() }
      settle()
    }
    state.withLock { $0.applying = task }
  }

  /// Returns `true` if nothing was removed since this number of removals.
  private func isLatest(_ removals: Int) -> Bool { state.withLock(\.removals) == removals }
}

extension LiveUpdates {
  /// Requests a key that has changed, for its streams.
  func request(_ key: RecordKey) {
    _ = spawnApart(on: executor, priority: .utility) { [weak self] in
      guard let self, let layer else { return }
      var failure: ReactorError?
      do throws(ReactorError) { try await layer.renew(key) } catch { failure = error }
      let isOutdated = !layer.outdatedStreams(in: KeySet(urls: [key.url])).isEmpty
      let isLagging = failure == nil && isOutdated && layer.isLagging(key)
      let time = elapsed()
      let isGivenUp = state.withLock { state in
        if let failure, !failure.mayPass {
          state.queue.drop(key, at: time)
          return false
        }
        if isLagging { return !state.queue.endedLagging(key, at: time) }
        state.queue.ended(key, isOutdated: isOutdated, hasFailed: failure != nil, at: time)
        return false
      }
      if isGivenUp { layer.report(.replicaLagged, of: key, model: "LiveUpdates") }
      settle()
    }
  }
}

extension ReactorError {
  /// A Boolean value that indicates whether the same request may succeed a moment later.
  fileprivate var mayPass: Bool {
    switch self {
    // A body that cannot be parsed may have been cut by something on its way.
    case .noConnectivity, .timedOut, .network, .cancelled, .persistence, .parser: true
    case .server(let response, _): response.status.code >= 500 || [408, 425, 429].contains(response.status.code)
    default: false
    }
  }
}
