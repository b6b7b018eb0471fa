/// Stops calls to a store that does not answer, and probes now and then whether it does.
///
/// It opens after five failures in a row, or when half of at least 20 calls in a second have
/// failed: for a second, and twice as long each time it reopens, up to 30 seconds. Then it admits
/// one call. A pure value: the caller passes the time.
struct CircuitBreaker: Sendable {
  private enum Phase: Sendable, Equatable {
    case closed
    case open(until: Duration)
    /// One call has been in flight since this time.
    case halfOpen(since: Duration)
  }

  private var phase = Phase.closed
  private var failuresInRow = 0
  private var openings = 0
  /// The numbers of times that it has opened and closed so far.
  private(set) var transitions = (open: 0, closed: 0)
  private var second: (start: Duration, calls: Int, failures: Int) = (.zero, 0, 0)

  static let firstPause = Duration.seconds(1)
  static let longestPause = Duration.seconds(30)

  var isClosed: Bool { phase == .closed }

  /// Returns `true` if a call may be made now.
  mutating func admits(at now: Duration) -> Bool {
    switch phase {
    case .closed: return true
    case .open(let until):
      guard now >= until else { return false }
      phase = .halfOpen(since: now)
      return true
    // A call whose outcome was never reported does not keep it open for ever.
    case .halfOpen(let since):
      guard now >= since + Self.firstPause else { return false }
      phase = .halfOpen(since: now)
      return true
    }
  }

  mutating func succeeded(at now: Duration) {
    count(now, isFailure: false)
    if phase != .closed { transitions.closed += 1 }
    (phase, failuresInRow, openings) = (.closed, 0, 0)
  }

  /// - Parameter jitter: a random number in 0...1, by which the pause is up to a quarter shorter.
  mutating func failed(at now: Duration, jitter: Double) {
    count(now, isFailure: true)
    failuresInRow += 1
    switch phase {
    case .closed:
      guard failuresInRow >= 5 || (second.calls >= 20 && second.failures * 2 >= second.calls) else { return }
      open(at: now, jitter)
    case .halfOpen: open(at: now, jitter)
    case .open: break
    }
  }

  private mutating func open(at now: Duration, _ jitter: Double) {
    let pause = min(Self.longestPause, Self.firstPause * (1 << min(openings, 5)))
    phase = .open(until: now + pause * (1 - 0.25 * jitter))
    openings += 1
    transitions.open += 1
  }

  private mutating func count(_ now: Duration, isFailure: Bool) {
    if now >= second.start + .seconds(1) { second = (now, 0, 0) }
    second.calls += 1
    if isFailure { second.failures += 1 }
  }
}
