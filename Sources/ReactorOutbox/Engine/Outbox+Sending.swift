import Foundation
import HTTPCaching
import HTTPTypes
import ReactorCore

/// The attempts of entries: starting them, and stopping all of them.
extension Outbox {
  /// Sends an entry while its lane waits.
  func process(_ id: UUID, _ layer: LayerContext) async {
    defer { attemptIsOver(id) }
    let epoch = withState(\.epoch)
    let leasedAt = layer.configuration.now()
    guard let claimed = await claim(id, layer) else { return }
    let item = withState { state in
      state.items[id]?.signIns = state.signIns
      return state.items[id]
    }
    guard let item else { return }
    var attempt = Attempt(
      outbox: self, layer: layer, item: item, limits: limits(item.mutation), epoch: epoch, leasedAt: leasedAt,
      entry: claimed.entry, stored: claimed.stored)
    if configuration.storage is MemoryOutboxStorage { return await attempt.run() }
    await withTaskGroup { group in
      group.addTask { await self.renewLease(of: id, layer) }
      await attempt.run()
      group.cancelAll()
    }
  }

  /// Frees an entry for the app's commands, which may wait for that.
  private func attemptIsOver(_ id: UUID) {
    let isDecided = withState { state in
      // Not earlier: a sent entry cannot be withdrawn while its outcome is being saved.
      state.items[id]?.sending = nil
      state.items[id]?.progress = nil
      state.queue.end(id)
      return state.queue.entries[id]?.isDecidable == true
    }
    if isDecided { changed() }
  }

  /// Shows the progress of the form that an attempt sends.
  func show(_ progress: TransferProgress, of id: UUID) {
    withState { state in
      // The attempt may be over.
      if state.items[id]?.sending != nil { state.items[id]?.progress = progress }
    }
    changed()
  }

  /// Leaves an entry in its lane, and tries again after a while: the store has failed.
  func postpone(_ id: UUID, after error: ReactorError, _ layer: LayerContext) {
    let now = layer.configuration.now()
    withState { $0.queue.deferLease(id, until: now + Self.storePause.inSeconds) }
    emit(id, key: nil, .storeFailed(error), layer)
  }
}

extension Outbox {
  func limits(_ mutation: MutationBox) -> OutboxEntry.Limits {
    OutboxEntry.Limits(
      retry: configuration.retry, onConflict: mutation.onConflict, maximumAge: configuration.maximumAge,
      newKey: { [configuration] in configuration.newKey() })
  }

  /// Returns a random number in 0...1, for a wait.
  func nextRandom() -> Double {
    var generator = random
    return Double.random(in: 0...1, using: &generator)
  }

  /// Cancels the requests that are being sent, and waits until their new state is saved.
  func cancelSending() async {
    let (tasks, makings) = withState { state in
      state.queue.isStopped = true
      return (state.inOrder(\.sending), state.inOrder(\.making))
    }
    for task in tasks { task.cancel() }
    for making in makings { making.interrupt() }
    endTimerIfUnneeded()
    // A drain waits for nothing more.
    changed()
    while true {
      let shot = withState { $0.lanes.running.isEmpty ? nil : $0.addWaiter() }
      guard let shot else { return }
      await shot.value
    }
  }
}
