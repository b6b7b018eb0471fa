#if canImport(Darwin)
  import Foundation
#endif

/// Whether programs are asked to save power.
public protocol PowerSaving: Sendable {
  /// What is known now. Must return at once.
  var isOn: Bool { get }

  /// A new stream at each access: first the current value, then each change.
  var updates: AsyncStream<Bool> { get }
}

/// Whether the user or the battery asks programs to save power, as the operating system tells.
///
/// On Apple platforms this is the system's Low Power Mode. Elsewhere it is always off.
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
    public var isOn: Bool { false }
    public var updates: AsyncStream<Bool> { AsyncStream { $0.yield(false) } }
  #endif
}
