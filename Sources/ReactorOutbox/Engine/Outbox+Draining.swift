import Foundation
import ReactorCore

/// Sending until no entry can be sent.
extension Outbox {
  /// Sends every lane.
  ///
  /// - Returns: the number of entries that no server has accepted.
  func sendAll(within duration: Duration) async -> Int {
    await drainLanes(until: nil, within: duration)
    return withState { state in
      state.unreadable.count + state.queue.entries.values.count { $0.state != .accepted }
    }
  }

  /// Sends the lane of an entry until the entry is finished.
  ///
  /// - Returns: `true` if the entry has left its lane, or is unknown.
  func sendLane(of id: UUID, within duration: Duration) async -> Bool {
    await drainLanes(until: id, within: duration)
    return withState { state in state.queue.entries[id]?.isInLane != true }
  }

  private func drainLanes(until id: UUID?, within duration: Duration) async {
    guard let layer else { return }
    let duration = min(duration, .seconds(86_400 * 365))
    let end = layer.configuration.now() + duration.inSeconds
    let drain = UUID()
    withState { $0.drains[drain] = .some(id) }
    let clock = layer.configuration.clock
    let isOver = OneShot<Void>()
    let deadline = TaskHandle(priority: nil)
    deadline.attach(
      spawnApart(on: layer.configuration.taskExecutor) { [weak self] in
        try? await clock.sleep(for: duration)
        // No lane starts another entry for this drain.
        self?.withState { $0.drains[drain] = nil }
        isOver.settle(())
        self?.endTimerIfUnneeded()
        self?.changed()
      })
    await withTaskCancellationHandler {
      await ready()
      withState { $0.queue.forgetUnsentBackoff() }
      pump()
      while !isOver.isSettled {
        if await waitForProgress(of: drain, until: id, before: end, layer) { continue }
        // Other processes may have added entries meanwhile.
        guard id == nil, !isOver.isSettled, await finds(moreBefore: end, layer) else { break }
        pump()
      }
    } onCancel: {
      deadline.cancel()
    }
    withState { $0.drains[drain] = nil }
    deadline.cancel()
    endTimerIfUnneeded()
  }

  /// Waits for the next change.
  ///
  /// - Returns: `false` if nothing more can be sent before `end`, or the drain is over.
  private func waitForProgress(
    of drain: UUID, until id: UUID?, before end: Date, _ layer: LayerContext
  ) async -> Bool {
    let conditions = conditions(layer)
    let shot = withState { $0.waiter(of: drain, until: id, before: end, conditions) }
    await shot?.value
    return shot != nil
  }

  /// Reads the store again.
  ///
  /// - Returns: `true` if something can be sent before `end`.
  private func finds(moreBefore end: Date, _ layer: LayerContext) async -> Bool {
    guard !(configuration.storage is MemoryOutboxStorage), (try? await readStore()) != nil else { return false }
    let conditions = conditions(layer)
    return withState { $0.canProgress(until: nil, before: end, conditions) }
  }
}

extension OutboxState {
  /// Adds a waiter for the next change; `nil` if the drain has nothing to wait for. A finishing
  /// drain removes it under the same lock and then counts as a change, so no wait misses it.
  mutating func waiter(
    of drain: UUID, until id: UUID?, before end: Date, _ conditions: OutboxQueue.Conditions
  ) -> OneShot<Void>? {
    guard drains.keys.contains(drain), canProgress(until: id, before: end, conditions) else { return nil }
    return addWaiter()
  }

  /// Returns a Boolean value that indicates whether a drain can still wait for a change.
  fileprivate func canProgress(until id: UUID?, before end: Date, _ conditions: OutboxQueue.Conditions) -> Bool {
    guard !isStopped else { return false }
    // A failed store is read again after a while.
    if case .failed = reading { return true }
    let lanes: [String]
    if let id {
      guard let entry = queue.entries[id], entry.isInLane else { return false }
      lanes = [entry.lane]
    } else {
      guard self.lanes.running.isEmpty else { return true }
      lanes = queue.laneNames
    }
    return lanes.contains { lane in
      guard !self.lanes.running.contains(lane) else { return true }
      return switch queue.turn(of: lane, conditions) {
      case .send, .busy: true
      case .wait(let until): until.map { $0 <= end } ?? false
      case .empty: false
      }
    }
  }
}
