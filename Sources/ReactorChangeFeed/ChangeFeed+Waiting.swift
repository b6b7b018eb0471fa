import Synchronization

/// Waiting for a change, and the beat of heartbeats.
extension ChangeFeed {
  /// Waits for the next change for the client, or for its heartbeat.
  ///
  /// - Returns: The position up to which nothing was for the client; `nil` if another reader of its
  ///   stream waits already.
  func wait(for client: ChangeStream.Client) async -> UInt64? {
    let dueAt = min(client.place.poll?.answersAt ?? client.heardAt + configuration.heartbeat, client.endsAt)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = state.withLock { state -> (isOver: Bool, position: UInt64?) in
          guard state.log.head <= client.place.position, !state.isEnding, !Task.isCancelled,
            state.seats.contains(client.seat)
          else { return (true, client.place.position) }
          return (!state.seats.wait(client.seat, continuation, until: dueAt), nil)
        }
        if end.isOver { continuation.resume(returning: end.position) }
      }
    } onCancel: {
      state.withLock { $0.seats.wake(client.seat) }?.resume(returning: client.place.position)
    }
  }

  func close(_ seat: UInt64) { state.withLock { $0.seats.remove(seat) }?.resume(returning: nil) }

  /// The time between two beats.
  var tick: Duration { max(min(configuration.heartbeat, configuration.patience) / 4, .milliseconds(100)) }

  /// Wakes clients for their heartbeats, and removes clients that do not read.
  func startTicker() {
    let (clock, interval) = (configuration.clock, tick)
    state.withLock { state in
      guard state.ticker == nil else { return }
      state.ticker = Task(executorPreference: configuration.taskExecutor) { [weak self] in
        while !Task.isCancelled {
          do { try await clock.sleep(for: interval) } catch { return }
          guard let self, beat() else { return }
        }
      }
    }
  }

  /// - Returns: `false` once there are no clients. The next one starts another ticker.
  private func beat() -> Bool {
    let (now, patience) = (elapsed(), configuration.patience)
    let (isOver, waiters, head, stalled) = state.withLock { state in
      let stalled = state.seats.removeStalled(at: now, patience: patience)
      if state.seats.count == 0 { state.ticker = nil }
      return (state.ticker == nil, state.seats.wakeDue(at: now), state.log.head, stalled)
    }
    for waiter in waiters { waiter.resume(returning: head) }
    for onStall in stalled { onStall() }
    return !isOver
  }
}
