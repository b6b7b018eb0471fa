import ReactorCore
import Synchronization

/// Background time for servers and command-line tools, which lets work finish after a request to
/// stop.
///
/// The library handles no signals; the program does:
///
/// ```swift
/// let grace = GracePeriod()
/// let uploads = photos.continuingInBackground(
///   named: "upload", timeoutError: Interrupted(), using: grace)
/// // … where the program handles SIGTERM:
/// await grace.end(within: .seconds(30))
/// exit(0)
/// ```
public final class GracePeriod: BackgroundTime {
  private struct State {
    var isOver = false
    var nextID = 0
    /// The closures to call when the activities expire, by the activity's number.
    var activities: [Int: @Sendable () -> Void] = [:]
    /// The callers of ``end(within:)``, to finish when no activity runs.
    var waiters: [AsyncStream<Never>.Continuation] = []

    mutating func takeReady() -> [AsyncStream<Never>.Continuation] {
      guard activities.isEmpty, !waiters.isEmpty else { return [] }
      // Set in the same step, so that an activity that begins before the waiters return expires at
      // once.
      isOver = true
      defer { waiters = [] }
      return waiters
    }
  }

  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  /// Creates a grace period, which lasts until ``end(within:)``.
  ///
  /// - Parameter clock: The clock that measures the time in ``end(within:)``.
  public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

  /// The number of running activities: activities that have neither ended nor expired.
  public var activityCount: Int { state.withLock(\.activities.count) }

  /// Begins an activity. If ``end(within:)`` has nothing left to wait for, the activity expires
  /// before this method returns.
  public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
    let id: Int? = state.withLock { state in
      if state.isOver { return nil }
      state.nextID += 1
      state.activities[state.nextID] = expired
      return state.nextID
    }
    guard let id else {
      expired()
      return BackgroundActivity {}
    }
    return BackgroundActivity { self.close(id) }
  }

  /// Waits until no activity runs. Activities that still run after `duration` expire.
  ///
  /// ```swift
  /// server.stopListening()
  /// await grace.end(within: .seconds(30))  // then exit
  /// ```
  ///
  /// It also waits for activities that begin while another runs. An activity that begins after the
  /// last one has ended expires at once. If the calling task is cancelled, all activities expire
  /// and it returns. Several callers may wait: the first whose time is over ends it for all.
  ///
  /// - Parameter duration: The longest wait. With zero or less, all activities expire at once. More
  ///   than 100 years, such as `Duration.never`, counts as 100 years, since a later instant would
  ///   overflow some clocks.
  public func end(within duration: Duration) async {
    if duration > .zero, let allEnded = allEnded() {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { for await _ in allEnded {} }
        group.addTask { [clock] in
          try? await clock.sleep(for: min(duration, .seconds(100 * 365 * 86_400)))
        }
        await group.next()
        group.cancelAll()
      }
    }
    expire()
  }

  /// Returns a stream that ends when no activity runs; `nil` if no activity runs.
  private func allEnded() -> AsyncStream<Never>? {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    return state.withLock { state in
      if state.activities.isEmpty { return nil }
      state.waiters.append(continuation)
      return stream
    }
  }

  private func close(_ id: Int) {
    // The removed closure is released after the unlock, since it may be the last owner of an
    // activity.
    let (_, waiters) = state.withLock { state in (state.activities.removeValue(forKey: id), state.takeReady()) }
    for waiter in waiters { waiter.finish() }
  }

  private func expire() {
    let (activities, waiters) = state.withLock { state in
      state.isOver = true
      let activities = state.activities
      state.activities = [:]
      return (activities, state.takeReady())
    }
    for (_, expired) in activities.sorted(by: { $0.key < $1.key }) { expired() }
    for waiter in waiters { waiter.finish() }
  }
}
