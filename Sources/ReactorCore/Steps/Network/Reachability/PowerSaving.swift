#if canImport(Darwin)
  import Foundation
#endif

extension ReactorConfiguration {
  /// A source of requests to save power, from the system or a test.
  public protocol PowerSaving: Sendable {
    /// A Boolean value that indicates whether the system asks programs to save power now. Must
    /// return at once.
    var isOn: Bool { get }

    /// A new stream at each access: first the current value, then each change.
    var updates: AsyncStream<Bool> { get }
  }

  /// The operating system's request to save power, made by the user or because of the battery.
  ///
  /// On Apple platforms this is the system's Low Power Mode. Elsewhere it is always off.
  ///
  /// A stream of ``updates`` ends with its reader.
  public struct SystemPowerSaving: PowerSaving {
    /// Creates a source. Nothing is observed before ``updates`` is read.
    public init() {}

    #if canImport(Darwin)
      /// A Boolean value that indicates whether Low Power Mode is on.
      public var isOn: Bool { ProcessInfo.processInfo.isLowPowerModeEnabled }

      /// A new stream at each access: first the current value, then each change. A slow reader gets
      /// the latest value.
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
      /// `false`: this platform has no such mode.
      public var isOn: Bool { false }
      /// A stream of a single `false`.
      public var updates: AsyncStream<Bool> { AsyncStream { $0.yield(false) } }
    #endif
  }
}
