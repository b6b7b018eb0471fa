import Foundation

/// Whether the user or the battery asks programs to save power, as the operating system tells.
///
/// - On Apple platforms: the system's Low Power Mode.
/// - On Linux: the platform profile is `low-power`, or the machine runs on a battery and each one it has holds less than
///   20 %. The system does not announce it, so it is looked at every 30 seconds, only while somebody waits.
/// - Elsewhere, and where the system does not tell: off.
///
/// A stream of ``updates`` ends with its reader.
public struct SystemPowerSaving: PowerSaving {
  public init() {}

  #if canImport(Darwin)
    public var isOn: Bool { ProcessInfo.processInfo.isLowPowerModeEnabled }

    public var updates: AsyncStream<Bool> {
      let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
      let task = spawn(on: nil) {
        var changes = NotificationCenter.default.notifications(named: .NSProcessInfoPowerStateDidChange)
          .map { _ in () }.makeAsyncIterator()
        // After the iterator, so that no change falls between.
        repeat { continuation.yield(isOn) } while await changes.next() != nil
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream.withoutRepeats()
    }
  #else
    public var isOn: Bool { LowPowerModeFiles().isOn }
    public var updates: AsyncStream<Bool> { LowPowerModeFiles().updates }
  #endif
}
