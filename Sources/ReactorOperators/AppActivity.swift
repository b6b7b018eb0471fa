import Foundation
import ReactorCore

/// Tells when the user comes back to the app.
public protocol AppActivity: Sendable {
  /// A new stream at each access: an element whenever the app becomes active from then on.
  ///
  /// What happens more than once before its reader looks may be one element. It ends with its reader.
  var becameActive: AsyncStream<Void> { get }
}

/// The moments at which the app becomes active, as the operating system tells.
///
/// - On Apple platforms: the notification of `UIApplication`, `NSApplication` or `WKApplication`.
/// - Elsewhere, where programs do not become active: never. Its stream only ends with its reader.
public struct SystemAppActivity: AppActivity {
  public init() {}

  #if canImport(Darwin)
    // By their values, so that a program without a user interface loads no framework for one.
    #if os(macOS)
      private static let name = Notification.Name("NSApplicationDidBecomeActiveNotification")
    #elseif os(watchOS)
      private static let name = Notification.Name("WKApplicationDidBecomeActiveNotification")
    #else
      private static let name = Notification.Name("UIApplicationDidBecomeActiveNotification")
    #endif

    public var becameActive: AsyncStream<Void> {
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      // Made here, so that what happens from now on is not missed.
      let iterator = SendingBox(NotificationCenter.default.notifications(named: Self.name).makeAsyncIterator())
      let task = spawn(on: nil) {
        guard var iterator = iterator.take() else { return }
        while await iterator.next(isolation: nil) != nil { continuation.yield() }
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    }
  #else
    public var becameActive: AsyncStream<Void> { AsyncStream { _ in } }
  #endif
}
