#if canImport(Darwin) && !os(macOS)
  import Dispatch
  import Foundation
#endif

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
