import Synchronization

/// A feed's side of a shared log.
struct ChangeSharing {
  /// The changes that the log has yet to get, oldest first.
  var outgoing: [PublishedChange] = []
  /// The number of the last entry that was read; `nil` before the first.
  var number: UInt64?
  /// The time at which the log has answered last; `nil` before it has.
  var heardAt: Duration?
  /// The time since which the log has not accepted a change; `nil` if it has accepted the last.
  var refusedAt: Duration?
  /// Wake the reading and the appending task, while ``ChangeFeed/run()`` runs.
  var (reads, sends): (AsyncStream<Void>.Continuation?, AsyncStream<Void>.Continuation?)
}

/// A history that several servers share.
extension ChangeFeed {
  /// Follows the shared log, and appends what is published, until the task is cancelled. Returns at
  /// once for a feed without a shared log.
  ///
  /// ```swift
  /// let feed = ChangeFeed(log: log)
  /// try await withThrowingTaskGroup { group in
  ///   group.addTask { await feed.run() }
  ///   group.addTask { try await server.run() }
  /// }
  /// ```
  ///
  /// Errors of the log are retried. While it is not heard, or accepts no change, for longer than
  /// ``ChangeFeedConfiguration/heartbeat``, open streams end, and further ones are refused: clients
  /// poll, and continue at their place once it is back. What was published meanwhile is appended
  /// then, up to ``ChangeFeedConfiguration/changes`` of it; beyond that, every client is told that
  /// it may have missed something.
  ///
  /// A cancelled call appends once more what it has, without retries. Call it once.
  public func run() async {
    guard let shared else { return }
    let (reads, sends) = (
      AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)),
      AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    )
    state.withLock { ($0.sharing.reads, $0.sharing.sends) = (reads.continuation, sends.continuation) }
    sends.continuation.yield()
    await withTaskGroup { group in
      group.addTask { await self.read(shared, reads.stream) }
      group.addTask { await self.send(shared, sends.stream) }
      group.addTask { await self.listen(shared, reads.continuation) }
      group.addTask { await self.beat(reads.continuation) }
    }
    state.withLock { ($0.sharing.reads, $0.sharing.sends) = (nil, nil) }
  }

  /// Returns `true` if the log was not heard for too long, or has accepted no change for too long.
  func isBlind(_ state: State, at now: Duration) -> Bool {
    guard shared != nil else { return false }
    if let refusedAt = state.sharing.refusedAt, now - refusedAt > configuration.heartbeat { return true }
    return state.sharing.heardAt.map { now - $0 > configuration.heartbeat } ?? true
  }

  func enqueue(_ change: PublishedChange) {
    state.withLock { state in
      state.sharing.outgoing.append(change)
      if state.sharing.outgoing.count > max(configuration.changes, 1) { state.sharing.outgoing = [.reset] }
      return state.sharing.sends
    }?.yield()
  }
}

/// The tasks of ``ChangeFeed/run()``.
extension ChangeFeed {
  /// Reads again from time to time, since a message may be lost.
  private func beat(_ reads: AsyncStream<Void>.Continuation) async {
    let interval = max(configuration.heartbeat / 4, .milliseconds(10))
    while !Task.isCancelled {
      reads.yield()
      do { try await configuration.clock.sleep(for: interval) } catch { return }
    }
  }

  private func listen(_ log: any SharedChangeLog, _ reads: AsyncStream<Void>.Continuation) async {
    var failures = 0
    while !Task.isCancelled {
      let isHeard = Mutex(false)
      // Read as the connection begins, since messages before it were missed.
      do {
        try await log.listen {
          isHeard.withLock { $0 = true }
          reads.yield()
        }
      } catch { failures += 1 }
      if isHeard.withLock(\.self) { failures = 0 }
      await pause(after: failures)
    }
  }

  /// Reads what is new. After an error, ``beat(_:)`` tries again.
  private func read(_ log: any SharedChangeLog, _ reads: AsyncStream<Void>) async {
    for await _ in reads {
      do {
        while true {
          let entries = try await log.entries(behind: state.withLock(\.sharing.number))
          guard apply(entries), !Task.isCancelled else { break }
        }
      } catch { continue }
    }
  }

  /// Appends what was published, in its order.
  private func send(_ log: any SharedChangeLog, _ sends: AsyncStream<Void>) async {
    var failures = 0
    appending: for await _ in sends {
      while let change = takeOutgoing() {
        do {
          try await log.append(change.bytes)
          accepted()
          failures = 0
        } catch {
          putBack(change)
          failures += 1
          await pause(after: failures)
          if Task.isCancelled { break appending }
        }
      }
    }
    // What was published was committed, and the process may stop now.
    while let change = takeOutgoing() {
      do { try await log.append(change.bytes) } catch { return putBack(change) }
    }
  }

  private func takeOutgoing() -> PublishedChange? {
    state.withLock { state in
      guard !state.sharing.outgoing.isEmpty else { return nil }
      let change = state.sharing.outgoing.removeFirst()
      return state.sharing.refusedAt == nil ? change : change.asQuestion
    }
  }

  private func accepted() {
    state.withLock { state in
      guard state.sharing.refusedAt != nil else { return }
      state.sharing.refusedAt = nil
      // What has waited may come after newer changes of other servers.
      state.sharing.outgoing = state.sharing.outgoing.map(\.asQuestion)
    }
  }

  private func putBack(_ change: PublishedChange) {
    let now = elapsed()
    state.withLock { state in
      state.sharing.refusedAt = state.sharing.refusedAt ?? now
      // A reset says more.
      if state.sharing.outgoing.first != .reset { state.sharing.outgoing.insert(change, at: 0) }
    }
  }

  private func pause(after failures: Int) async {
    let wait = min(.milliseconds(100 << min(failures, 6)), Duration.seconds(5)) * Double.random(in: 0.5...1)
    do { try await configuration.clock.sleep(for: wait) } catch { return }
  }

  /// Adds entries of the log to this server's list, and wakes the clients that they are for.
  ///
  /// - Returns: `false` if there was nothing new among them.
  private func apply(_ entries: [SharedChangeEntry]) -> Bool {
    let now = elapsed()
    let (woken, isNews) = state.withLock { state -> ([(Waiter, UInt64)], Bool) in
      var (woken, isNews): ([(Waiter, UInt64)], Bool) = ([], false)
      for entry in entries {
        // Read twice.
        if entry.history == state.log.space, entry.number <= state.log.head { continue }
        (state.sharing.number, isNews) = (entry.number, true)
        if entry.history != state.log.space || entry.number != state.log.head + 1 {
          // Entries are missing. A position from before is not in the list.
          woken += state.seats.wake(.everyone).map { ($0, 0) }
          state.log.restart(entry.history, behind: entry.number - 1)
        }
        woken += add(entry, &state)
      }
      // At first, and after a silence, the list is read to its end: clients may name any place.
      if !isNews || !isBlind(state, at: now) { state.sharing.heardAt = now }
      return (woken, isNews)
    }
    for (waiter, position) in woken { waiter.resume(returning: position) }
    return isNews
  }

  private func add(_ entry: SharedChangeEntry, _ state: inout State) -> [(Waiter, UInt64)] {
    guard !entry.bytes.isEmpty else {
      state.log.skip()
      return []
    }
    let change = PublishedChange(reading: entry.bytes)
    // Each server spreads its own clients.
    state.log.append(change, spread: change.spread ?? spread(of: change, state))
    return state.seats.wake(change.audience).map { ($0, entry.number - 1) }
  }
}
