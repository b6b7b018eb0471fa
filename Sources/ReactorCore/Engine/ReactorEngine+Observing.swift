import Foundation
import HTTPTypes
import Synchronization

extension ReactorEngine {
  /// What memory knows now, as a stream with this policy would show it first.
  func current(_ resource: Resource, _ policy: FetchPolicy) -> LoadState<AnyModel> {
    guard resource.readsOnly, let key = try? flow.key(resource) else {
      return LoadState(error: unobservable(resource))
    }
    let now = now
    let snapshot = state.withLock { state -> KeySnapshot? in
      guard let entry = state.memory.entry(of: key, as: resource) else { return nil }
      return entry.snapshot(for: subscriber(resource, policy, entry, now))
    }
    return snapshot.map { loadState($0, for: resource) } ?? LoadState()
  }

  /// Begins a stream: it joins a flight as the policy says.
  ///
  /// - Parameter polling: of zero or less, and of ``Duration.never``: none.
  func subscribe(
    _ resource: Resource, _ policy: FetchPolicy, polling: Duration? = nil
  ) throws(ReactorError) -> (RecordKey, FlightMachine.WaiterID) {
    if let error = unobservable(resource) { throw error }
    if policy != .cacheOnly, Refreshing.isUnderWay {
      throw .invalidResource(
        "the refresh of a credential observed a resource, whose request may wait for it; fetch instead")
    }
    let key = try flow.key(resource)
    let now = now
    return transact { state, effects in
      // One date decides whether it is stale now, and when it will be.
      let now = state.date ?? now
      let id = nextID()
      let entry = entry(of: key, as: resource, &state)
      let interval = polling.flatMap { $0 > .zero && $0 < .never && policy != .cacheOnly ? $0 : nil }
      let subscriber = subscriber(resource, policy, entry, now, polling: interval, since: state.time)
      entry.addSubscriber(subscriber, for: id)
      state.subscriberCount += 1
      if interval != nil {
        entry.pollers += 1
        state.pollerCount += 1
      }
      watch(&state, &effects)
      if let due = due(subscriber, entry, state), due < entry.wakeup?.at ?? .never { entry.wakeupIsOutdated = true }
      let decision = FetchDecision(policy, copy: standing(entry.copy, for: resource, at: now))
      if decision != .use {
        let waiter = FlightMachine.Waiter(
          id: id, kind: .stream, resource: resource, policy: policy, wait: subscriber.wait)
        join(waiter, entry, at: now, priority: subscriber.priority, &state, &effects)
      }
      settle(entry, &state, &effects)
      return (key, id)
    }
  }

  /// Ends a stream; one that waits gets `nil`.
  func unsubscribe(_ key: RecordKey, _ id: FlightMachine.WaiterID) {
    transact { state, effects in
      guard let entry = state.memory.entries[key], let subscriber = entry.removeSubscriber(id) else { return }
      subscriber.wait?.end()
      if let continuation = subscriber.continuation { effects.append(.deliver(continuation, nil)) }
      if let copy = subscriber.ownVariant { effects.append(.release([copy])) }
      state.subscriberCount -= 1
      if subscriber.polling != nil {
        entry.pollers -= 1
        state.pollerCount -= 1
      }
      if entry.subscribers.isEmpty || (subscriber.polling != nil && entry.pollers == 0) {
        entry.wakeupIsOutdated = true
      }
      stopWatching(&state, &effects)
      depart(id, entry, &state, &effects)
      state.memory.touch(entry, at: state.time)
      settle(entry, &state, &effects)
    }
  }

  /// What the stream may know now, whether it has seen it or not; `nil` after its end.
  func latest(_ key: RecordKey, _ id: FlightMachine.WaiterID, of resource: Resource) -> LoadState<AnyModel>? {
    let snapshot = state.withLock { state -> KeySnapshot? in
      guard let entry = state.memory.entries[key], let subscriber = entry.subscribers[id] else { return nil }
      return entry.give(to: subscriber)
    }
    return snapshot.map { loadState($0, for: resource) }
  }

  /// The next revision that the stream has not seen; `nil` once it has ended, by cancellation too.
  func next(_ key: RecordKey, _ id: FlightMachine.WaiterID, of resource: Resource) async -> LoadState<AnyModel>? {
    let snapshot = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        transact { state, effects in
          guard let entry = state.memory.entries[key], let subscriber = entry.subscribers[id] else {
            return effects.append(.deliver(continuation, nil))
          }
          if let snapshot = entry.take(for: subscriber) {
            effects.append(.deliver(continuation, snapshot))
          } else {
            // Of two that ask at once, which no iterator is made for, the earlier gets the end.
            if let earlier = subscriber.continuation { effects.append(.deliver(earlier, nil)) }
            subscriber.continuation = continuation
          }
        }
        if Task.isCancelled { unsubscribe(key, id) }
      }
    } onCancel: {
      unsubscribe(key, id)
    }
    return snapshot.map { loadState($0, for: resource) }
  }

  private func unobservable(_ resource: Resource) -> ReactorError? {
    guard resource.readsOnly else {
      return .invalidResource("\(resource.method.rawValue) has no states; set isReadOnly if it changes nothing")
    }
    do { _ = try flow.key(resource) } catch { return error }
    return nil
  }

  private func subscriber(
    _ resource: Resource, _ policy: FetchPolicy, _ entry: Entry, _ now: Date, polling: Duration? = nil,
    since: Duration = .zero
  ) -> Subscriber {
    let standing = standing(entry.copy, for: resource, at: now)
    let showsValue =
      switch policy {
      case .staleWhileRevalidate, .cacheOnly: standing != nil || entry.copy == nil
      case .cacheFirst: standing?.isFresh ?? false
      case .networkOnly, .networkFirst: false
      }
    return Subscriber(
      resource: resource, policy: policy, polling: polling, since: since, priority: Task.currentPriority,
      showsValue: showsValue, wait: LockOwner.wait())
  }

  private func loadState(_ snapshot: KeySnapshot, for resource: Resource) -> LoadState<AnyModel> {
    let isStale = snapshot.copy.map { !(standing($0, for: resource, at: now)?.isFresh ?? false) } ?? false
    var state = LoadState(
      value: snapshot.copy?.model, error: snapshot.error, fetchStatus: snapshot.fetchStatus, origin: snapshot.origin,
      fetchedAt: snapshot.copy?.fetchedAt, isStale: isStale, progress: snapshot.progress, revision: snapshot.revision,
      valueRevision: snapshot.valueRevision)
    state.isRemoved = snapshot.isRemoved
    return state
  }
}

extension ReactorEngine {
  /// Joins each stream of `entry` that is not a waiter yet and whose copy is not fresh.
  ///
  /// - Parameters:
  ///   - isStored: whether a newer record has just been stored, so that reading it is enough under every policy.
  ///   - retriesFailures: whether a fresh copy is asked for too where the last request for a newer one failed.
  func refresh(
    _ entry: Entry, isStored: Bool = false, retriesFailures: Bool = false, at now: Date, _ state: inout State,
    _ effects: inout [Effect]
  ) {
    let hasFailed = retriesFailures && entry.error != nil
    let subscribers = entry.subscribers.filter { isStored || $1.policy != .cacheOnly }
    for (id, subscriber) in subscribers.sorted(by: { $0.key < $1.key }) {
      let isFresh = standing(entry.copy(for: subscriber), for: subscriber.resource, at: now)?.isFresh == true
      guard entry.flight?.machine.waiters.contains(id) != true, !isFresh || hasFailed else { continue }
      // Of what is stored: whoever asked the network for it as well would be the next to store it, and so on.
      let policy: FetchPolicy = isStored ? .cacheOnly : isFresh ? .networkFirst : subscriber.policy
      let waiter = FlightMachine.Waiter(
        id: id, kind: .stream, resource: subscriber.resource, policy: policy, wait: subscriber.wait)
      join(waiter, entry, at: now, priority: subscriber.priority, &state, &effects)
    }
  }
}

extension ReactorEngine {
  /// Follows the system's state while there are streams whom it concerns.
  func watch(_ state: inout State, _ effects: inout [Effect]) {
    if state.reachabilityWatcher == nil, flow.configuration.checksReachability, core.reachability != nil {
      let watcher = TaskHandle(priority: nil)
      state.reachabilityWatcher = watcher
      effects.append(.watchReachability(watcher))
    }
    if state.powerWatcher == nil, state.pollerCount > 0 {
      let watcher = TaskHandle(priority: nil)
      state.powerWatcher = watcher
      effects.append(.watchPower(watcher))
    }
  }

  /// Stops what the last stream needed.
  func stopWatching(_ state: inout State, _ effects: inout [Effect]) {
    if state.subscriberCount == 0, let watcher = state.reachabilityWatcher.take() { effects.append(.cancel([watcher])) }
    if state.pollerCount == 0, let watcher = state.powerWatcher.take() { effects.append(.cancel([watcher])) }
  }

  func startWatchingReachability(_ watcher: TaskHandle) {
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

  func startWatchingPower(_ watcher: TaskHandle) {
    let power = flow.configuration.powerSaving
    watcher.attach(
      spawnApart(on: flow.configuration.taskExecutor) { [weak self] in
        for await isOn in power.updates { self?.savePower(isOn, watcher) }
      })
  }

  private func savePower(_ isOn: Bool, _ watcher: TaskHandle) {
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

extension ReactorEngine {
  var keys: [RecordKey] { state.withLock { Array($0.memory.entries.keys) } }

  func statuses(of keys: [RecordKey]) -> [KeyStatus] {
    let now = now
    var statuses: [KeyStatus] = []
    for start in stride(from: 0, to: keys.count, by: Self.statusBatch) {
      let batch = keys[start..<min(start + Self.statusBatch, keys.count)]
      // Some at a time, so that nobody waits long for the lock.
      statuses += state.withLock { state in
        batch.compactMap { key in state.memory.entries[key].map { status(of: $0, at: now) } }
      }
    }
    return statuses
  }

  private static var statusBatch: Int { 128 }

  private func status(of entry: Entry, at now: Date) -> KeyStatus {
    let standing = entry.use.aliases.last.flatMap { self.standing(entry.copy, for: $0, at: now) }
    let condition: KeyStatus.Condition =
      switch (entry.copy, standing) {
      case (nil, _): entry.error == nil ? .absent : .failed
      case (_, let standing?) where standing.isFresh: .fresh
      case (_, let standing): standing?.isInvalid == true ? .invalidated : .stale
      }
    return KeyStatus(
      key: entry.key, model: name, condition: condition, origin: entry.copy?.origin,
      fetchedAt: entry.copy?.fetchedAt, age: standing?.age, lifetime: standing?.lifetime, bytes: entry.cost,
      observers: entry.subscribers.count, waiters: entry.continuations.count, phase: entry.flight?.machine.phase,
      error: entry.error)
  }

  func refetch(_ key: RecordKey) -> Bool {
    let now = now
    return transact { state, effects in
      guard let entry = state.memory.entries[key], let resource = entry.use.aliases.last else { return false }
      guard entry.flight?.machine.hasBackgroundWaiter != true else { return true }
      let layer = FlightMachine.Waiter(
        id: FlightMachine.background, kind: .background, resource: resource, policy: .networkOnly)
      join(layer, entry, at: now, &state, &effects)
      settle(entry, &state, &effects)
      return true
    }
  }

  func wentOnline() { reconnected(refreshes: true) }
}
