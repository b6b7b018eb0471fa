import Foundation
import ReactorCore

/// A source of the moments at which the user returns to the app.
///
/// ```swift
/// layer.refetchInForeground(olderThan: .seconds(60), activity: SystemAppActivity())
/// ```
public protocol AppActivity: Sendable {
  /// A stream with an element each time the app becomes active, from the access on.
  ///
  /// Each access creates a new stream, which lives as long as its reader. Moments that the reader
  /// has not yet seen may be merged into one element.
  var becameActive: AsyncStream<Void> { get }
}

/// The moments at which the app becomes active, from the operating system.
///
/// - On Apple platforms, the source is the notification of `UIApplication`, `NSApplication` or
///   `WKApplication`.
/// - On other platforms, programs do not become active, and the stream has no elements. It lives as
///   long as its reader.
public struct SystemAppActivity: AppActivity {
  /// Creates the source. Nothing is observed until ``becameActive`` is read.
  public init() {}

  #if canImport(Darwin)
    // By value, so that a program without a user interface links no framework for the name.
    #if os(macOS)
      private static let name = Notification.Name("NSApplicationDidBecomeActiveNotification")
    #elseif os(watchOS)
      private static let name = Notification.Name("WKApplicationDidBecomeActiveNotification")
    #else
      private static let name = Notification.Name("UIApplicationDidBecomeActiveNotification")
    #endif

    /// A new stream with an element each time the app becomes active; buffers one element.
    public var becameActive: AsyncStream<Void> {
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      // Made before the task, so that no notification is missed in between.
      let iterator = SendingBox(NotificationCenter.default.notifications(named: Self.name).makeAsyncIterator())
      let task = spawn(on: nil) {
        guard var iterator = iterator.take() else { return }
        while await iterator.next(isolation: nil) != nil { continuation.yield() }
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    }
  #else
    /// A new stream without elements.
    public var becameActive: AsyncStream<Void> { AsyncStream { _ in } }
  #endif
}
