public import ReactorOperators
import Synchronization

/// Background time that is over when the test says so.
public final class ScriptedBackgroundTime: BackgroundTime {
  private struct Activity {
    let id: Int
    let name: String
    let expired: @Sendable () -> Void
  }

  private struct State {
    var nextID = 0
    /// In the order in which they began.
    var activities: [Activity] = []
  }

  private let isGiven: Bool
  private let state = Mutex(State())

  /// - Parameter isGiven: where it is not, each activity expires before it has begun, as a system does that has no time left.
  public init(isGiven: Bool = true) { self.isGiven = isGiven }

  /// The names of the activities that run, in the order in which they began: neither ended nor expired.
  public var names: [String] { state.withLock { $0.activities.map(\.name) } }

  /// The time of all that run is over. Returns once all have been told.
  public func expire() {
    let activities = state.withLock { state in
      defer { state.activities = [] }
      return state.activities
    }
    for activity in activities { activity.expired() }
  }

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
    // What is removed is let go after the lock, as it may be the last to hold an activity.
    _ = state.withLock { state in
      state.activities.firstIndex { $0.id == id }.map { state.activities.remove(at: $0) }
    }
  }
}
