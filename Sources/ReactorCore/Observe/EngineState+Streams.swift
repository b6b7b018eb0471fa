import Foundation
import Synchronization

extension EngineState {
  /// Returns the state that a stream with this policy would show first; `nil` if memory has no
  /// entry.
  mutating func snapshot(
    of key: RecordKey, as resource: Resource, _ policy: FetchPolicy, at now: Date
  ) -> KeySnapshot? {
    visibleEntry(of: key, as: resource).map { entry in
      // No stream is opened, so its number means nothing.
      entry.snapshot(for: subscriber(.stream(StateSlot(0)), resource, policy, entry, now))
    }
  }

  /// Opens a stream, which joins the key's flight if its policy needs one.
  ///
  /// - Parameters:
  ///   - polling: the polling interval; `nil` for none.
  ///   - reader: who gets the states, the current one first.
  mutating func subscribe(
    _ reader: StateReader, _ key: RecordKey, as resource: Resource, _ policy: FetchPolicy, polling: Duration?,
    at now: Date
  ) {
    // The same date decides whether the copy is stale now and when it becomes stale.
    let now = date ?? now
    let entry = entry(of: key, as: resource)
    // Equal resources are soon compared, which takes less if they are one.
    let known = entry.subscribers.all.first?.resource
    let resource = known == resource ? known ?? resource : resource
    let subscriber = subscriber(reader, resource, policy, entry, now, polling: polling, since: time)
    entry.addSubscriber(subscriber)
    subscriberCount += 1
    if subscriberCount == 1 { effects.append(.observe) }
    if polling != nil {
      entry.pollers += 1
      pollerCount += 1
    }
    watch()
    if let due = due(subscriber, entry), due < entry.wakeup?.at ?? .never { entry.wakeupIsOutdated = true }
    let status = status(of: entry.copy, for: resource, at: now)
    if FetchDecision(policy, status).needsFlight {
      join(subscriber.waiter(), entry, at: now, priority: subscriber.priority)
    }
    publishChanges(of: entry)
    // Without a change, it has not got the current state yet. Otherwise, it gets the state once.
    switch reader {
    case .stream(let slot):
      effects.append(.offer([StateOffer(snapshot: entry.snapshot(for: subscriber), readers: [slot])]))
    case .observer(let observer):
      if !subscriber.isDue { effects.append(.call([observer.isolation], key)) }
      subscriber.isDue = true
    }
  }

  /// Ends a stream. A pending call for its next state gets `nil`.
  mutating func unsubscribe(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    guard let entry = memory.entries[key], let subscriber = entry.removeSubscriber(id) else { return }
    subscriber.wait?.end()
    effects.append(.end(subscriber.reader))
    if let copy = subscriber.ownVariant { effects.append(.release([copy])) }
    subscriberCount -= 1
    if subscriberCount == 0 { effects.append(.observe) }
    if subscriber.polling != nil {
      entry.pollers -= 1
      pollerCount -= 1
    }
    if entry.subscribers.isEmpty || (subscriber.polling != nil && entry.pollers == 0) {
      entry.wakeupIsOutdated = true
    }
    stopWatching()
    removeWaiter(id, entry)
    memory.touch(entry, at: time)
    publishChanges(of: entry)
  }

  /// Returns an observer's current state, which then counts as delivered; `nil` after its end.
  func latest(_ key: RecordKey, _ id: FlightMachine.WaiterID) -> KeySnapshot? {
    guard let entry = memory.entries[key], let subscriber = entry.subscribers[id] else { return nil }
    subscriber.delivered = entry.revision(for: subscriber)
    return entry.snapshot(for: subscriber)
  }

  private func subscriber(
    _ reader: StateReader, _ resource: Resource, _ policy: FetchPolicy, _ entry: Entry, _ now: Date,
    polling: Duration? = nil, since: Duration = .zero
  ) -> Subscriber {
    let status = status(of: entry.copy, for: resource, at: now)
    let showsValue =
      switch policy {
      case .staleWhileRevalidate, .cacheOnly: status != nil || entry.copy == nil
      case .cacheFirst: status?.isFresh ?? false
      case .networkOnly, .networkFirst: false
      }
    return Subscriber(
      reader, resource: resource, policy: policy, polling: polling, since: since,
      priority: resource.priority ?? Task.currentPriority,
      showsValue: showsValue, wait: LockOwner.wait())
  }
}

extension EngineState {
  /// Joins each stream of `entry` to the flight if its copy is not fresh. Streams that are waiters
  /// already are skipped.
  ///
  /// - Parameters:
  ///   - isStored: `true` if a newer record has just been stored. Streams then only load it,
  ///     whatever their policy.
  ///   - retriesFailures: `true` to request fresh copies too if the latest attempt failed.
  ///   - limit: the time before which a fresh copy must have been fetched to be requested too.
  mutating func refresh(
    _ entry: Entry, isStored: Bool = false, retriesFailures: Bool = false, fetchedBefore limit: Date = .distantPast,
    at now: Date
  ) {
    let isDue = retriesFailures && entry.error != nil || entry.copy?.fetchedAt ?? .distantFuture < limit
    for subscriber in entry.subscribers.all where isStored || subscriber.policy != .cacheOnly {
      let isFresh = status(of: entry.copy(for: subscriber), for: subscriber.resource, at: now)?.isFresh == true
      guard entry.flight?.machine.waiters.contains(subscriber.id) != true, !isFresh || isDue else { continue }
      // Only from disk. Reactors that sent a request for each other's records would never stop.
      let policy: FetchPolicy = isStored ? .cacheOnly : isFresh ? .networkFirst : subscriber.policy
      join(subscriber.waiter(policy), entry, at: now, priority: subscriber.priority)
    }
  }

  /// Resumes paused flights when there is connectivity.
  ///
  /// - Parameter refreshes: `true` if there was no connection before. Observed keys are then
  ///   requested if they are stale or their latest attempt failed, unless they were removed.
  mutating func reconnected(refreshes: Bool, at now: Date) {
    for entry in memory.entriesInOrder where !entry.subscribers.isEmpty {
      if entry.flight?.machine.isPaused == true {
        enqueue(entry.flight?.machine.reconnected() ?? [], for: entry)
      } else if refreshes, !entry.isForgotten {
        // The flight in progress may belong to a caller that found no connectivity, or that is
        // leaving. The streams join it.
        refresh(entry, retriesFailures: true, at: now)
      } else {
        continue
      }
      publishChanges(of: entry)
    }
  }

  /// Requests the observed keys whose latest request was not sent because of an outage, which has
  /// ended.
  mutating func serverReturned(at now: Date) {
    for entry in memory.entriesInOrder where entry.wasRefused {
      entry.wasRefused = false
      guard !entry.subscribers.isEmpty, !entry.isForgotten else { continue }
      refresh(entry, retriesFailures: true, at: now)
      publishChanges(of: entry)
    }
  }

  /// Requests the observed keys that are stale, were fetched before `limit`, or whose latest
  /// attempt failed. Skips keys that wait for connectivity or were removed.
  mutating func refreshStreams(fetchedBefore limit: Date, at now: Date) {
    for entry in memory.entriesInOrder where !entry.subscribers.isEmpty && !entry.isForgotten {
      guard entry.flight?.machine.isPaused != true else { continue }
      refresh(entry, retriesFailures: true, fetchedBefore: limit, at: now)
      publishChanges(of: entry)
    }
  }

  /// Requests `key` from the network in the background. Returns `false` if the key is not in
  /// memory.
  mutating func refetch(_ key: RecordKey, at now: Date) -> Bool {
    guard let entry = memory.entries[key], let resource = entry.use.aliases.last else { return false }
    guard entry.flight?.machine.hasBackgroundWaiter != true else { return true }
    join(.background(resource, .networkOnly), entry, at: now)
    publishChanges(of: entry)
    return true
  }

  func keyStatus(of key: RecordKey, at now: Date) -> KeyStatus? {
    guard let entry = memory.entries[key] else { return nil }
    let status = entry.use.aliases.last.flatMap { self.status(of: entry.copy, for: $0, at: now) }
    let condition: KeyStatus.Condition =
      switch (entry.copy, status) {
      case (nil, _): entry.error == nil ? .absent : .failed
      case (_, let status?) where status.isFresh: .fresh
      case (_, let status): status?.isInvalid == true ? .invalidated : .stale
      }
    return KeyStatus(
      key: entry.key, model: name, condition: condition, origin: entry.copy?.origin,
      fetchedAt: entry.copy?.fetchedAt, age: status?.age, lifetime: status?.lifetime, bytes: entry.cost,
      observers: entry.subscribers.count, waiters: entry.continuations.count, phase: entry.flight?.machine.phase,
      error: entry.error, head: entry.copy?.head)
  }
}

extension EngineState {
  /// Starts to follow reachability and low power mode while streams depend on them.
  private mutating func watch() {
    if reachabilityWatcher == nil, configuration.checksReachability, layer.reachability != nil {
      let watcher = TaskHandle(priority: nil)
      reachabilityWatcher = watcher
      effects.append(.watchReachability(watcher))
    }
    if powerWatcher == nil, pollerCount > 0 {
      let watcher = TaskHandle(priority: nil)
      powerWatcher = watcher
      effects.append(.watchPower(watcher))
    }
  }

  /// Stops the watchers that no stream needs any more.
  private mutating func stopWatching() {
    if subscriberCount == 0, let watcher = reachabilityWatcher.take() { effects.append(.cancel([watcher])) }
    if pollerCount == 0, let watcher = powerWatcher.take() { effects.append(.cancel([watcher])) }
  }

  mutating func savePower(_ isOn: Bool, _ watcher: TaskHandle) {
    // A stopped watcher may still report.
    guard powerWatcher === watcher, isSavingPower != isOn else { return }
    isSavingPower = isOn
    for entry in memory.entriesInOrder where entry.pollers > 0 {
      entry.wakeupIsOutdated = true
      setWakeup(entry)
    }
  }

  /// Schedules, moves or cancels the wakeup of `entry`.
  mutating func setWakeup(_ entry: Entry) {
    let hasFlight = entry.flight != nil
    if hasFlight != entry.hadFlight { entry.wakeupIsOutdated = true }
    entry.hadFlight = hasFlight
    guard entry.wakeupIsOutdated else { return }
    entry.wakeupIsOutdated = false
    let due = earliestDue(entry)
    guard due != entry.wakeup?.at else { return }
    if let wakeup = entry.wakeup.take() { effects.append(.cancel([wakeup.task])) }
    guard let due else { return }
    let task = TaskHandle(priority: nil)
    entry.wakeup = Wakeup(task: task, at: due)
    effects.append(.wakeUp(task, entry.key, at: due))
  }

  private func earliestDue(_ entry: Entry) -> Duration? {
    var earliest: Duration?
    for subscriber in entry.subscribers.all {
      if let due = due(subscriber, entry) { earliest = min(earliest ?? due, due) }
    }
    return earliest
  }

  /// Returns the clock's time of the stream's next automatic request; `nil` for none. A removed key
  /// has none.
  private func due(_ subscriber: Subscriber, _ entry: Entry) -> Duration? {
    guard !entry.isForgotten else { return nil }
    let (poll, staleness) = (poll(subscriber, entry), staleness(subscriber, entry))
    guard let poll, let staleness else { return poll ?? staleness }
    return min(poll, staleness)
  }

  /// Returns the time of the next poll: one interval after the latest attempt or, if that time had
  /// passed before the subscription, one interval after the subscription. Returns `nil` during a
  /// flight, whose end schedules the next poll.
  private func poll(_ subscriber: Subscriber, _ entry: Entry) -> Duration? {
    guard let interval = subscriber.polling, entry.flight == nil else { return nil }
    let factor = isSavingPower ? max(configuration.lowPower.pollingFactor, 1) : 1
    var wait = min(interval, EngineState.longest) * min(factor, 1_000)
    // A screen that shows an error polls at its own interval.
    if entry.error == nil, let limit = layer.pollingLimit.withLock(\.self), contains(entry, in: limit.set) {
      wait = max(wait, min(limit.interval, EngineState.longest))
    }
    var due = subscriber.since + wait
    if let attemptedAt = entry.attemptedAt, attemptedAt + wait > subscriber.since { due = attemptedAt + wait }
    return max(due, entry.pollableAt ?? .zero)
  }

  private func staleness(_ subscriber: Subscriber, _ entry: Entry) -> Duration? {
    guard let date, subscriber.policy != .cacheOnly, let copy = entry.copy(for: subscriber),
      let rest = rule.rest(copy, for: subscriber.resource, at: date), rest < EngineState.longest.inSeconds
    else { return nil }
    // Rounded up to the next millisecond: a `Date` is too coarse to reach the exact instant.
    return time + .milliseconds((rest * 1_000).rounded(.up) + 1)
  }

  /// Requests the key that `task` has slept for.
  mutating func wakeUp(_ key: RecordKey, _ task: TaskHandle, at now: Date) {
    guard let entry = memory.entries[key], entry.wakeup?.task === task else { return }
    // The same date decides whether the copy is stale now and when it becomes stale.
    let now = date ?? now
    entry.wakeup = nil
    entry.wakeupIsOutdated = true
    // Before the first joins a flight, which ends all polls.
    let due = entry.subscribers.all.filter { subscriber in poll(subscriber, entry).map { $0 <= time } ?? false }
    for subscriber in due {
      join(subscriber.waiter(.networkOnly), entry, at: now, priority: subscriber.priority)
    }
    if date != nil { refresh(entry, at: now) }
    publishChanges(of: entry)
  }
}
