import ReactorCore

/// The ends of connections, and the waits before the next ones.
extension LiveState {
  /// The server's wish for the wait before a reconnection.
  mutating func asksToWait(_ number: UInt64, _ retry: Duration) {
    guard number == connection else { return }
    self.retry = min(max(retry, .milliseconds(100)), .seconds(600))
  }

  /// The stream has ended, or could not be opened.
  ///
  /// - Parameters:
  ///   - status: the status of a response that is not a success; `nil` otherwise.
  ///   - pause: the wait that the server asks for in `Retry-After`.
  mutating func ended(
    _ number: UInt64, _ error: ReactorError?, status: Int? = nil, pause: Duration? = nil, at time: Duration
  ) -> [Action] {
    guard number == connection else { return [] }
    if case .open(let open) = phase {
      if time - open.openedAt >= Self.steady { failures = 0 }
      if !open.isLeaving, error == nil, let wait = open.wait { return polled(open, wait, at: time) }
      // A response that ends after its first events is a long poll.
      if open.isLeaving || (error == nil && open.hasEvents) { return rest(at: time) }
    }
    if case .timedOut? = error, !isGreeted { return heldBack(at: time) }
    switch (status, error) {
    case (401?, _), (_, .authentication?): return turnOff(.authentication)
    case (410?, _): lastEventID = ""
    case (408?, _), (425?, _), (429?, _): break
    case (let status?, let error?) where status < 500: return turnOff(.refused(error))
    case (_, .invalidResource?), (_, .streamingUnsupported?): return error.map { turnOff(.unavailable($0)) } ?? []
    default: break
    }
    return interrupt(error, pause: pause, at: time)
  }

  /// Reconnects soon, after a stream that was good.
  private mutating func rest(at time: Duration) -> [Action] {
    (failures, isOfServer) = (0, true)
    beginGrace(at: time)
    phase = .waiting(until: time + retry * random.share(), nil)
    connection += 1
    return []
  }

  mutating func interrupt(
    _ error: ReactorError?, pause: Duration? = nil, longest: Duration = LiveState.longestWait, at time: Duration
  ) -> [Action] {
    beginGrace(at: time)
    liveUntil = nil
    if wait != nil { polls.failed(error, after: time - startedAt, at: time) }
    let backoff = backoff(longest)
    isOfServer = true
    let wait = max(pause.map { min($0, .seconds(3_600)) } ?? .zero, backoff)
    phase = .waiting(until: time + wait, error)
    connection += 1
    return []
  }

  /// The wait after a failure: full jitter below a ceiling that doubles.
  mutating func backoff(_ longest: Duration = LiveState.longestWait) -> Duration {
    let ceiling = min(retry * Double(1 << min(failures, 12)), max(longest, retry))
    failures += 1
    return ceiling * random.share()
  }

  mutating func turnOff(_ reason: LiveStatus.Reason) -> [Action] {
    (graceUntil, liveUntil) = (nil, nil)
    phase = .off(reason)
    connection += 1
    return [.disconnect(connection)]
  }

  mutating func beginGrace(at time: Duration) {
    if status.isLive { graceUntil = time + grace }
  }
}

extension SplitMix64 {
  /// A number in 0...1.
  func share() -> Double {
    var generator = self
    return .random(in: 0...1, using: &generator)
  }
}
