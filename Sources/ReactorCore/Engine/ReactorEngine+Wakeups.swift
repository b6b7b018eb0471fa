import Foundation

/// What asks again by itself while somebody watches: polling and, where the configuration says so, becoming stale.
extension ReactorEngine {
  /// Sets, moves or ends the wait of `entry`. While a flight is under way there is none: its end sets the next.
  func setWakeup(_ entry: Entry, _ state: inout State, _ effects: inout [Effect<Model>]) {
    if entry.flight != nil {
      entry.isAttempting = true
    } else if entry.isAttempting {
      entry.isAttempting = false
      entry.attemptedAt = state.time
      entry.wakeupIsOutdated = true
    }
    guard entry.wakeupIsOutdated || (entry.isAttempting && entry.wakeup != nil) else { return }
    entry.wakeupIsOutdated = false
    let due = entry.isAttempting ? nil : earliestDue(entry, state)
    guard due != entry.wakeup?.at else { return }
    if let wakeup = entry.wakeup.take() { effects.append(.cancel([wakeup.task])) }
    guard let due else { return }
    let task = FlightTask(priority: nil)
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
  func due(_ subscriber: Subscriber<Model>, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard !entry.isForgotten else { return nil }
    let (poll, staleness) = (poll(subscriber, entry, state), staleness(subscriber, entry, state))
    guard let poll, let staleness else { return poll ?? staleness }
    return min(poll, staleness)
  }

  private func poll(_ subscriber: Subscriber<Model>, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard let interval = subscriber.polling else { return nil }
    let factor = state.isSavingPower ? max(flow.configuration.pollingFactorInLowPower, 1) : 1
    let since = max(subscriber.since, entry.attemptedAt ?? .zero)
    return since + min(interval, Self.longest) * min(factor, 1_000)
  }

  private func staleness(_ subscriber: Subscriber<Model>, _ entry: Entry, _ state: borrowing State) -> Duration? {
    guard let date = state.date, subscriber.policy != .cacheOnly,
      let rest = freshness(entry.copy, for: subscriber.resource, at: date), rest < Self.longest.inSeconds
    else { return nil }
    // Up to the next millisecond: a `Date` is too coarse to say that the very moment has come.
    return state.time + .milliseconds((rest * 1_000).rounded(.up) + 1)
  }

  /// 100 years: an instant beyond what a clock can count to would trap.
  private static var longest: Duration { .seconds(100 * 365 * 86_400) }

  func startWakeup(_ task: FlightTask, _ key: RecordKey, at time: Duration) {
    task.attach(
      spawn(on: flow.configuration.taskExecutor) { [weak self, sleep] in
        do { try await sleep(time) } catch { return }
        self?.wakeUp(key, task)
      })
  }

  private func wakeUp(_ key: RecordKey, _ task: FlightTask) {
    let now = now
    transact { state, effects in
      guard let entry = state.memory.entries[key], entry.wakeup?.task === task else { return }
      entry.wakeup = nil
      entry.wakeupIsOutdated = true
      let time = state.time
      for (id, subscriber) in entry.subscribers.sorted(by: { $0.key < $1.key }) {
        guard let due = poll(subscriber, entry, state), due <= time else { continue }
        let party = Flight.Party(id: id, kind: .stream, resource: subscriber.resource, policy: .networkOnly)
        join(party, entry, at: now, &state, &effects)
      }
      if state.date != nil { refresh(entry, at: now, &state, &effects) }
      settle(entry, &state, &effects)
    }
  }
}
