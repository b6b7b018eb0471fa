import Foundation

/// The tasks that wait for a time, for connectivity or for low power mode.
///
/// Their handles are created under the lock, and the tasks after it is released. They are detached
/// from the tasks that caused them, and are cancelled with the engine.
extension ReactorEngine {
  /// Sleeps until the next automatic request of a key: its next poll or, with
  /// ``ReactorConfiguration/revalidatesWhenStale``, the time when its copy becomes stale.
  func startWakeup(_ task: TaskHandle, _ key: RecordKey, at time: Duration) {
    attach(task) { [weak self, sleep] in
      do { try await sleep(time) } catch { return }
      guard let self else { return }
      let now = now
      update { $0.wakeUp(key, task, at: now) }
    }
  }

  /// Sleeps for ``ReactorConfiguration/staleAfter``, on behalf of a waiting caller.
  func startTimer(_ task: TaskHandle, _ key: RecordKey, _ caller: FlightMachine.WaiterID) {
    guard let wait = flow.configuration.staleAfter else { return }
    let time = elapsed() + min(wait, EngineState.longest)
    attach(task) { [weak self, sleep] in
      do { try await sleep(time) } catch { return }
      guard let self else { return }
      let now = now
      update { $0.waitedEnough(key, caller, at: now) }
    }
  }

  /// Evicts unused entries from memory until no unused entry is left.
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
    attach(watcher) { [weak self, sleep, elapsed] in
      var throttle = ReconnectionThrottle()
      await withDiscardingTaskGroup { group in
        for await isReachable in reachability.changes {
          switch throttle.changed(isReachable: isReachable, at: elapsed()) {
          case .nothing: break
          // The first value counts too: a flight may have been paused before this task began to
          // listen.
          case .resume: self?.reconnected(refreshes: false)
          case .refresh: self?.reconnected(refreshes: true)
          case .refreshLater(let time):
            self?.reconnected(refreshes: false)
            group.addTask {
              do { try await sleep(time) } catch { return }
              if self?.flow.isReachable == true { self?.reconnected(refreshes: true) }
            }
          }
        }
      }
    }
  }

  func startWatchingPower(_ watcher: TaskHandle) {
    let power = flow.configuration.lowPower.source
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

extension EngineState {
  /// Handles a caller that has waited for ``ReactorConfiguration/staleAfter``.
  mutating func waitedEnough(_ key: RecordKey, _ id: FlightMachine.WaiterID, at now: Date) {
    guard let entry = memory.entries[key] else { return }
    enqueue(entry.flight?.machine.waitedEnough(id) { status(of: entry, for: $0, at: now) } ?? [], for: entry)
    publishChanges(of: entry)
  }
}
