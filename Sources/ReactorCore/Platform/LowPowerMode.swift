import Foundation

/// Whether the user or the battery asks programs to save power.
///
/// - On Apple platforms: the system's Low Power Mode.
/// - On Linux: the platform profile is `low-power`, or the machine runs on a battery and each one it has holds less than
///   20 %. The system does not announce it, so it is looked at every 30 seconds, only while somebody waits.
/// - Elsewhere, and where the system does not tell: off.
public enum LowPowerMode {
  /// What the system says now.
  public static var isOn: Bool {
    #if canImport(Darwin)
      ProcessInfo.processInfo.isLowPowerModeEnabled
    #else
      LowPowerModeFiles().isOn
    #endif
  }

  /// A new stream at each access: first the current value, then each change. It ends with its reader.
  public static var updates: AsyncStream<Bool> {
    #if canImport(Darwin)
      let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
      let task = Task {
        var changes = NotificationCenter.default.notifications(named: .NSProcessInfoPowerStateDidChange)
          .map { _ in () }.makeAsyncIterator()
        // After the iterator, so that no change falls between.
        repeat { continuation.yield(isOn) } while await changes.next() != nil
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream.withoutRepeats()
    #else
      LowPowerModeFiles().updates
    #endif
  }
}
