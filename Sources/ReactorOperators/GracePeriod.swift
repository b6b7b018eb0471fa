import ReactorCore
import Synchronization

/// Background time for servers and command-line tools: what runs when the program is told to stop may end in peace.
///
/// The program handles its signals, never the library:
///
/// ```swift
/// let grace = GracePeriod()
/// let uploads = photos.continuingInBackground(named: "upload", timeoutError: Interrupted(), using: grace)
/// // … where the program handles SIGTERM:
/// await grace.end(within: .seconds(30))
/// exit(0)
/// ```
public final class GracePeriod: BackgroundTime {
  private struct State {
    var isOver = false
    var nextID = 0
    /// The functions to call when they expire.
    var activities: [Int: @Sendable () -> Void] = [:]
    /// They finish when no activity runs: then it is over.
    var waiters: [AsyncStream<Never>.Continuation] = []

    mutating func takeReady() -> [AsyncStream<Never>.Continuation] {
      guard activities.isEmpty, !waiters.isEmpty else { return [] }
      // In one step: what begins between the end of the last and the return of who waits does not go on alone.
      isOver = true
      defer { waiters = [] }
      return waiters
    }
  }

  private let clock: any Clock<Duration>
  private let state = Mutex(State())

  /// - Parameter clock: what the time of ``end(within:)`` passes on.
  public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

  /// The number of activities that run: begun, and neither ended nor expired.
  public var activityCount: Int { state.withLock(\.activities.count) }

  /// If ``end(within:)`` has nothing left to wait for, the activity expires before this method
  /// returns.
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

  /// Returns once no activity runs; those that still run after `duration` expire.
  ///
  /// What begins while another runs is waited for, too; what begins when none does any more expires at once. When its task is cancelled, it waits no
  /// longer. Several may wait: the first whose time is over ends it for all.
  ///
  /// - Parameter duration: of zero or less: all expire at once. Of more than 100 years, `Duration.never` included: 100
  ///   years, since an instant beyond what a clock can count to would trap.
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

  /// Ends when no activity runs; `nil` where none does.
  private func allEnded() -> AsyncStream<Never>? {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    return state.withLock { state in
      if state.activities.isEmpty { return nil }
      state.waiters.append(continuation)
      return stream
    }
  }

  private func close(_ id: Int) {
    // What is removed is let go after the lock, as it may be the last to hold an activity.
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
