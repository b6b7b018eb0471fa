import ReactorCore
import Synchronization

#if canImport(Darwin) && !os(macOS)
  import Dispatch
  import Foundation
#endif

/// Lets a program finish what it does, for a while, after it was asked to stop.
public protocol BackgroundTime: Sendable {
  /// Begins an activity, which keeps the program running until it has ended or expires.
  ///
  /// - Parameters:
  ///   - name: what the system's tools show; for people.
  ///   - expired: called at most once, when the program has to stop: on any thread, maybe before this method returns, and
  ///     maybe while the activity is being ended. It must return at once; the program may stand still from then on.
  /// - Returns: the running activity. Who lets it go ends it.
  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity
}

/// An activity that has been given background time; it ends when it is told to, or released.
public final class BackgroundActivity: Sendable {
  /// `nil` once it has ended.
  private let onEnd: Mutex<(@Sendable () -> Void)?>

  /// - Parameter onEnd: called once, on whatever thread the end comes.
  public init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = Mutex(onEnd) }

  deinit { end() }

  /// Gives the time back. Again, it does nothing.
  public func end() { onEnd.withLock { $0.take() }?() }
}

/// The background time that the operating system gives.
///
/// - On Apple platforms but macOS: `ProcessInfo`'s expiring activities, some seconds from when the app leaves the
///   foreground. Each holds a thread of the system's pool, so keep it to a few dozen at a time.
/// - On macOS, on Linux and elsewhere, where programs are not put to sleep: as long as it takes; nothing expires. Use
///   ``GracePeriod`` to give time to what a server or a command-line tool does when it is told to stop.
public struct SystemBackgroundTime: BackgroundTime {
  public init() {}

  #if canImport(Darwin) && !os(macOS)
    public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
      let ended = DispatchSemaphore(value: 0)
      // An empty reason is an error.
      let reason = name.isEmpty ? "background activity" : name
      // The activity lasts as long as the block, which runs on a queue of its own. A second call says that it expires; the
      // only one does where no time is given.
      ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpiring in
        guard isExpiring else { return ended.wait() }
        expired()
        ended.signal()
      }
      return BackgroundActivity { ended.signal() }
    }
  #else
    public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
      BackgroundActivity {}
    }
  #endif
}
