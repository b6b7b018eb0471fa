import ReactorCore
import Synchronization

#if canImport(Darwin) && !os(macOS)
  import Dispatch
  import Foundation
#endif

/// A source of time to finish work after the program was asked to stop.
public protocol BackgroundTime: Sendable {
  /// Begins an activity, which keeps the program running until it ends or expires.
  ///
  /// ```swift
  /// let activity = backgroundTime.begin("export") { export.cancel() }
  /// await export.value
  /// activity.end()
  /// ```
  ///
  /// - Parameters:
  ///   - name: The name to show in the system's tools.
  ///   - expired: A closure that is called at most once, when the program has to stop. It is called
  ///     on any thread, possibly before this method returns or while the activity is being ended.
  ///     It must return at once: the program may be suspended right after it.
  /// - Returns: The running activity. Releasing it ends it.
  func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity
}

/// An activity with background time. It ends with ``end()``, or when it is released.
public final class BackgroundActivity: Sendable {
  /// The closure to call when the activity ends; `nil` once it has ended.
  private let onEnd: Mutex<(@Sendable () -> Void)?>

  /// Creates a running activity.
  ///
  /// - Parameter onEnd: A closure that is called once, on the thread that ends the activity.
  public init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = Mutex(onEnd) }

  deinit { end() }

  /// Ends the activity. Further calls do nothing.
  public func end() { onEnd.withLock { $0.take() }?() }
}

/// The background time of the operating system.
///
/// - On Apple platforms except macOS, it is an expiring activity of `ProcessInfo`: some seconds
///   from when the app leaves the foreground. Each activity blocks a thread of the system's pool,
///   so begin no more than a few dozen at a time.
/// - On macOS, Linux and elsewhere, programs are not suspended, so an activity lasts as long as it
///   needs and never expires. To give a server or a command-line tool time before it stops, use
///   ``GracePeriod``.
public struct SystemBackgroundTime: BackgroundTime {
  /// Creates a source of the system's background time.
  public init() {}

  #if canImport(Darwin) && !os(macOS)
    /// Begins an expiring activity of `ProcessInfo`.
    public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
      let ended = DispatchSemaphore(value: 0)
      // `ProcessInfo` does not accept an empty reason.
      let reason = name.isEmpty ? "background activity" : name
      // The activity lasts as long as the block, which runs on a separate queue. The system calls
      // the block again when the activity expires, and calls it only for that if it grants no time.
      ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpiring in
        guard isExpiring else { return ended.wait() }
        expired()
        ended.signal()
      }
      return BackgroundActivity { ended.signal() }
    }
  #else
    /// Begins an activity that never expires.
    public func begin(_ name: String, expired: @escaping @Sendable () -> Void) -> BackgroundActivity {
      BackgroundActivity {}
    }
  #endif
}
