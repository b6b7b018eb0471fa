import Foundation
import ReactorCore

/// Starting lanes, and the waits in between.
extension Outbox {
  func conditions(_ layer: LayerContext) -> OutboxQueue.Conditions {
    OutboxQueue.Conditions(now: layer.configuration.now(), isReachable: layer.isReachable(layer.configuration))
  }

  /// Starts every lane that can send, or only `lane`.
  func pump(_ lane: String? = nil) {
    guard let layer else { return }
    if withState({ state in
      if case .failed = state.reading { return state.timer == nil && state.takeovers == 0 }
      return false
    }) {
      return rereadLater(layer)
    }
    let conditions = conditions(layer)
    let limit = max(1, configuration.concurrentLanes)
    let (begun, wake) = withState { state in
      var begun: [String] = []
      var wake: Date?
      for name in lane.map({ [$0] }) ?? state.queue.laneNames
      where !state.lanes.running.contains(name) && state.maySend(name) {
        switch state.queue.turn(of: name, conditions) {
        case .send:
          // Lanes that have waited go first.
          if state.lanes.running.count < limit, !state.lanes.isStarved || lane != nil {
            state.run(name)
            begun.append(name)
          } else {
            state.starve(name)
          }
        case .wait(let until): wake = [wake, until].compactMap(\.self).min()
        case .busy, .empty: break
        }
      }
      return (begun, wake)
    }
    for name in begun { begin(name, layer) }
    if let wake { wakeUp(at: wake, layer) }
    watchReachability(layer, if: !conditions.isReachable)
    if begun.isEmpty { changed() }
    if lane == nil { beginStarved() }
  }

  /// Starts the lanes that have waited longest, one for each free turn. Each round takes a lane out
  /// or starts one.
  private func beginStarved() {
    let limit = max(1, configuration.concurrentLanes)
    while let name = withState({ $0.nextStarved(limit) }) { pump(name) }
  }

  private func begin(_ lane: String, _ layer: LayerContext) {
    _ = spawnApart(on: layer.configuration.taskExecutor) { await self.run(lane, layer) }
  }

  /// Sends the entries of a lane until it is blocked, or other lanes wait for their turn.
  private func run(_ lane: String, _ layer: LayerContext) async {
    let owner = withState { $0.laneTurn(lane) }.owner
    await LockOwner.$current.withValue(owner) {
      while let next = next(in: lane, layer) {
        switch next {
        case .send(let id): await process(id, layer)
        case .readFirst(let id): await readOthers(before: id, layer)
        }
        if withState(\.lanes.isStarved) { break }
      }
    }
    stop(lane)
  }

  private enum Next {
    case send(UUID)
    /// Other processes may have added entries before this one.
    case readFirst(UUID)
  }

  /// Returns the next entry of a lane to send, which is active from then on.
  private func next(in lane: String, _ layer: LayerContext) -> Next? {
    let conditions = conditions(layer)
    let isShared = !(configuration.storage is MemoryOutboxStorage)
    return withState { state in
      guard state.maySend(lane), case .send(let id) = state.queue.turn(of: lane, conditions) else { return nil }
      if isShared, state.mayFollowOthers(id) { return .readFirst(id) }
      state.queue.begin(id)
      return .send(id)
    }
  }

  private func stop(_ lane: String) {
    withState { $0.stop(lane) }
    changed()
    // Its own lane too, behind the others: something may have changed after it was found blocked.
    withState { $0.starve(lane) }
    beginStarved()
  }
}

/// The waits.
extension Outbox {
  /// Pumps again at `date`, on the configuration's clock.
  private func wakeUp(at date: Date, _ layer: LayerContext) {
    // Read in this order: if time passes in between, the task wakes early and pumps again.
    let elapsed = elapsed()
    // A date cannot represent the last microsecond, so the task would wait for it again and again.
    let wait = min(max(0.001, date.timeIntervalSince(layer.configuration.now())), 86_400)
    after(elapsed + .seconds(wait), layer) { $0.pump() }
  }

  /// Reads the store again after a while.
  private func rereadLater(_ layer: LayerContext) {
    after(elapsed() + Self.storePause, layer) { $0.read() }
  }

  /// Sets the timer to a time of the configuration's clock, unless it is set to an earlier one.
  private func after(_ time: Duration, _ layer: LayerContext, _ body: @escaping @Sendable (Outbox) -> Void) {
    let task = TaskHandle(priority: nil)
    let (isSet, old) = withState { state -> (Bool, TaskHandle?) in
      guard state.needsTimer, state.timer.map({ time < $0.time }) ?? true else { return (false, nil) }
      defer { state.timer = (time, task) }
      return (true, state.timer?.task)
    }
    guard isSet else { return }
    old?.cancel()
    task.attach(
      spawnApart(on: layer.configuration.taskExecutor) { [weak self, sleep] in
        do { try await sleep(time) } catch { return }
        guard let self else { return }
        withState { if $0.timer?.task === task { $0.timer = nil } }
        body(self)
      })
  }

  /// Cancels the timer, unless it is still needed.
  func endTimerIfUnneeded() {
    let task = withState { state -> TaskHandle? in
      guard !state.needsTimer else { return nil }
      defer { state.timer = nil }
      return state.timer?.task
    }
    task?.cancel()
  }

  /// Follows connectivity while something waits for it.
  private func watchReachability(_ layer: LayerContext, if isNeeded: Bool) {
    guard isNeeded, let reachability = layer.reachability else { return }
    let task = TaskHandle(priority: nil)
    let begins = withState { state in
      guard state.watcher == nil, state.queue.hasLanes else { return false }
      state.watcher = task
      return true
    }
    guard begins else { return }
    task.attach(
      spawnApart(on: layer.configuration.taskExecutor) { [weak self] in
        var isOnline = false
        for await isReachable in reachability.changes where isReachable {
          isOnline = true
          break
        }
        // If the sequence of changes has finished, another one would finish at once. The next
        // submission, drain or timer reads the current state.
        guard isOnline, let self else { return }
        withState { if $0.watcher === task { $0.watcher = nil } }
        wentOnline()
      })
  }

  /// Notifies the observers of the entries.
  func changed() {
    for waiter in withState({ $0.change() }) { waiter.settle(()) }
  }
}
