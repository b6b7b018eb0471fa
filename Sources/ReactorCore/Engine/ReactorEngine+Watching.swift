extension ReactorEngine {
  /// Follows the system's state while there are streams whom it concerns.
  func watch(_ state: inout State, _ effects: inout [Effect]) {
    if state.reachabilityWatcher == nil, flow.configuration.checksReachability, core.reachability != nil {
      let watcher = FlightTask(priority: nil)
      state.reachabilityWatcher = watcher
      effects.append(.watchReachability(watcher))
    }
    if state.powerWatcher == nil, state.pollerCount > 0 {
      let watcher = FlightTask(priority: nil)
      state.powerWatcher = watcher
      effects.append(.watchPower(watcher))
    }
  }

  /// Stops what the last stream needed.
  func stopWatching(_ state: inout State, _ effects: inout [Effect]) {
    if state.subscriberCount == 0, let watcher = state.reachabilityWatcher.take() { effects.append(.cancel([watcher])) }
    if state.pollerCount == 0, let watcher = state.powerWatcher.take() { effects.append(.cancel([watcher])) }
  }

  func startWatchingReachability(_ watcher: FlightTask) {
    guard let reachability = core.reachability else { return }
    watcher.attach(
      spawnApart(on: flow.configuration.taskExecutor) { [weak self] in
        var wasReachable = true
        for await isReachable in reachability.changes {
          // The first value too: a flight may have been paused before the changes were watched.
          if isReachable { self?.reconnected(refreshes: !wasReachable) }
          wasReachable = isReachable
        }
      })
  }

  func startWatchingPower(_ watcher: FlightTask) {
    let power = flow.configuration.powerSaving
    watcher.attach(
      spawnApart(on: flow.configuration.taskExecutor) { [weak self] in
        for await isOn in power.updates { self?.savePower(isOn, watcher) }
      })
  }

  private func savePower(_ isOn: Bool, _ watcher: FlightTask) {
    transact { state, effects in
      // One that was stopped may be late.
      guard state.powerWatcher === watcher, state.isSavingPower != isOn else { return }
      state.isSavingPower = isOn
      for entry in state.memory.entriesInOrder where entry.pollers > 0 {
        entry.wakeupIsOutdated = true
        setWakeup(entry, &state, &effects)
      }
    }
  }

  /// There is connectivity: what is paused goes on and, if there was none before, what is observed is asked for where it
  /// is stale or its last request failed, but for what was removed.
  func reconnected(refreshes: Bool) {
    let now = now
    transact { state, effects in
      for entry in state.memory.entriesInOrder where !entry.subscribers.isEmpty {
        if entry.flight?.machine.isPaused == true {
          apply(entry.flight?.machine.reconnected() ?? [], to: entry, &effects)
        } else if refreshes, !entry.isForgotten {
          // A flight that is under way may be a caller's that found no connectivity, or leaves: the streams join it.
          refresh(entry, retriesFailures: true, at: now, &state, &effects)
        } else {
          continue
        }
        settle(entry, &state, &effects)
      }
    }
  }
}
