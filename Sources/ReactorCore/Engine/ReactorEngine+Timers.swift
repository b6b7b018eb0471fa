import Foundation

/// The tasks that wait for something other than an answer: a time, connectivity, low power mode. Each is begun under the lock and made
/// after it; it belongs to nobody, and ends with the engine.
extension ReactorEngine {
  /// Sleeps until a key is to be asked for again by itself: polling and, where the configuration says so, becoming stale.
  func startWakeup(_ task: TaskHandle, _ key: RecordKey, at time: Duration) {
    attach(task) { [weak self, sleep] in
      do { try await sleep(time) } catch { return }
      guard let self else { return }
      let now = now
      update { $0.wakeUp(key, task, at: now) }
    }
  }

  /// Removes what is unused from memory, until nothing is.
  func startSweeping(_ task: TaskHandle) {
    let clock = flow.configuration.clock
    let first = flow.configuration.keepUnusedFor
    attach(task, priority: .background) { [weak self] in
      var wait: Duration? = first
      while let duration = wait {
        do { try await clock.sleep(for: min(duration, EngineState.longest)) } catch { return }
        wait = self?.sweep()
      }
    }
  }

  private func sweep() -> Duration? {
    let time = elapsed()
    return update { $0.sweep(at: time) }
  }

  func startWatchingReachability(_ watcher: TaskHandle) {
    guard let reachability = layer.reachability else { return }
    attach(watcher) { [weak self] in
      var wasReachable = true
      for await isReachable in reachability.changes {
        // The first value too: a flight may have been paused before the changes were watched.
        if isReachable { self?.reconnected(refreshes: !wasReachable) }
        wasReachable = isReachable
      }
    }
  }

  func startWatchingPower(_ watcher: TaskHandle) {
    let power = flow.configuration.powerSaving
    attach(watcher) { [weak self] in
      for await isOn in power.updates { self?.update { $0.savePower(isOn, watcher) } }
    }
  }

  private func attach(
    _ task: TaskHandle, priority: TaskPriority? = nil, _ body: @escaping @Sendable @concurrent () async -> Void
  ) {
    task.attach(spawnApart(on: flow.configuration.taskExecutor, priority: priority, body))
  }
}
