public import ReactorOperators
import Synchronization

/// Background time that ends when the test says so.
///
/// ```swift
/// let time = ScriptedBackgroundTime()
/// let upload = stories.fetches("stories")
///   .continuingInBackground(named: "upload", timeoutError: URLError(.timedOut), using: time)
/// time.expire()
/// ```
public final class ScriptedBackgroundTime: BackgroundTime {
  private struct Activity {
    let id: Int
    let name: String
    let expired: @Sendable () -> Void
  }

  private struct State {
    /// The running activities, in the order in which they began.
    var nextID = 0
    /// In the order in which they began.
    var activities: [Activity] = []
  }

  private let isGiven: Bool
  private let state = Mutex(State())

  /// Creates a source of background time.
  ///
  /// - Parameter isGiven: Pass `false` to expire each activity before it begins, as a system does
  ///   that has no time left.
  public init(isGiven: Bool = true) { self.isGiven = isGiven }

  /// The names of the running activities, in the order in which they began. Ended and expired
  /// activities are not among them.
  public var names: [String] { state.withLock { $0.activities.map(\.name) } }

  /// Expires all running activities. Returns once all their closures have run.
  public func expire() {
    let activities = state.withLock { state in
      defer { state.activities = [] }
      return state.activities
    }
    for activity in activities { activity.expired() }
  }

  /// Begins an activity, which runs until it is ended or ``expire()`` is called.
  public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
    guard isGiven else {
      expired()
      return BackgroundActivity {}
    }
    let id = state.withLock { state in
      state.nextID += 1
      state.activities.append(Activity(id: state.nextID, name: name, expired: expired))
      return state.nextID
    }
    return BackgroundActivity { self.end(id) }
  }

  private func end(_ id: Int) {
    // Released after the lock: its closure may hold the last reference to another activity, whose
    // `deinit` takes the lock.
    _ = state.withLock { state in
      state.activities.firstIndex { $0.id == id }.map { state.activities.remove(at: $0) }
    }
  }
}
