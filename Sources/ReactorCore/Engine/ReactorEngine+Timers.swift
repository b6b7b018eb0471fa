import Foundation

/// What asks again by itself while somebody watches: polling and, where the configuration says so, becoming stale.
extension ReactorEngine {
  /// Sets, moves or ends the wait of `entry`.
  func setWakeup(_ entry: Entry, _ state: inout State, _ effects: inout [Effect]) {
    let hasFlight = entry.flight != nil
    if hasFlight != entry.hadFlight { entry.wakeupIsOutdated = true }
    entry.hadFlight = hasFlight
    guard entry.wakeupIsOutdated else { return }
    entry.wakeupIsOutdated = false
    let due = earliestDue(entry, state)
    guard due != entry.wakeup?.at else { return }
    if let wakeup = entry.wakeup.take() { effects.append(.cancel([wakeup.task])) }
    guard let due else { return }
    let task = TaskHandle(priority: nil)
    entry.wakeup = Wakeup(task: task, at: due)
    effects.append(.wakeUp(task, entry.key, at: due))
  }

  private func earliestDue(_ entry: Entry, _ state: borrowing State) -> Duration? {
    var earliest: Duration?
    for subscriber in entry.subscribers.values {
      if let due = due(subscriber, entry, state) { earliest = min(earliest ?? due, due) }
    }
    return earliest
  }

  /// The clock's time at which the stream wants its key asked for; `nil`: never by itself. What was removed is left alone.
  func due(_ subscriber: Subscriber, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard !entry.isForgotten else { return nil }
    let (poll, staleness) = (poll(subscriber, entry, state), staleness(subscriber, entry, state))
    guard let poll, let staleness else { return poll ?? staleness }
    return min(poll, staleness)
  }

  /// An interval after the latest attempt; where that was longer ago when the stream subscribed, after the subscription. While a
  /// flight is under way there is no next: its end sets it.
  private func poll(_ subscriber: Subscriber, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard let interval = subscriber.polling, entry.flight == nil else { return nil }
    let factor = state.isSavingPower ? max(flow.configuration.pollingFactorInLowPower, 1) : 1
    let wait = min(interval, Self.longest) * min(factor, 1_000)
    if let attemptedAt = entry.attemptedAt, attemptedAt + wait > subscriber.since { return attemptedAt + wait }
    return subscriber.since + wait
  }

  private func staleness(_ subscriber: Subscriber, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard let date = state.date, subscriber.policy != .cacheOnly,
      let rest = freshness(entry.copy(for: subscriber), for: subscriber.resource, at: date),
      rest < Self.longest.inSeconds
    else { return nil }
    // Up to the next millisecond: a `Date` is too coarse to say that the very moment has come.
    return state.time + .milliseconds((rest * 1_000).rounded(.up) + 1)
  }

  /// 100 years: an instant beyond what a clock can count to would trap.
  static var longest: Duration { .seconds(100 * 365 * 86_400) }

  func startWakeup(_ task: TaskHandle, _ key: RecordKey, at time: Duration) {
    task.attach(
      spawnApart(on: flow.configuration.taskExecutor) { [weak self, sleep] in
        do { try await sleep(time) } catch { return }
        self?.wakeUp(key, task)
      })
  }

  private func wakeUp(_ key: RecordKey, _ task: TaskHandle) {
    let now = now
    transact { state, effects in
      guard let entry = state.memory.entries[key], entry.wakeup?.task === task else { return }
      // One date decides whether it is stale now, and when it will be.
      let now = state.date ?? now
      entry.wakeup = nil
      entry.wakeupIsOutdated = true
      let time = state.time
      let due = entry.subscribers.filter { poll($1, entry, state).map { $0 <= time } ?? false }
      for (id, subscriber) in due.sorted(by: { $0.key < $1.key }) {
        let waiter = FlightMachine.Waiter(
          id: id, kind: .stream, resource: subscriber.resource, policy: .networkOnly, wait: subscriber.wait)
        join(waiter, entry, at: now, priority: subscriber.priority, &state, &effects)
      }
      if state.date != nil { refresh(entry, at: now, &state, &effects) }
      settle(entry, &state, &effects)
    }
  }
}

extension ReactorEngine {
  /// Sees to it that what is unused leaves memory in time: one task sleeps until the next is due.
  func scheduleSweep(_ state: inout State, _ effects: inout [Effect]) {
    guard state.sweeper == nil, flow.configuration.keepUnusedFor < .never, !state.memory.entries.isEmpty else { return }
    let sweeper = TaskHandle(priority: nil)
    state.sweeper = sweeper
    effects.append(.sweep(sweeper))
  }

  func startSweeping(_ sweeper: TaskHandle) {
    let clock = flow.configuration.clock
    let first = flow.configuration.keepUnusedFor
    sweeper.attach(
      spawnApart(on: flow.configuration.taskExecutor, priority: .background) { [weak self] in
        var wait: Duration? = first
        while let duration = wait {
          do { try await clock.sleep(for: min(duration, Self.longest)) } catch { return }
          wait = self?.sweep()
        }
      })
  }

  /// Evicts what is due; gives how long to wait for the next, `nil` where there is nothing to wait for.
  private func sweep() -> Duration? {
    let time = elapsed()
    return transact { state, effects in
      let (gone, next) = state.memory.sweep(at: time)
      for key in gone { append(key, .evicted) }
      // With nothing to wait for, or only what is observed: the next change of an entry begins anew.
      if next == nil { state.sweeper = nil }
      return next.map { max($0 - time, .milliseconds(1)) }
    }
  }
}
