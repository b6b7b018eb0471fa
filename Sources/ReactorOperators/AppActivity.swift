import Foundation
import ReactorCore

/// A source of the moments at which the user leaves the app and returns to it.
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

  /// A stream with an element each time the app goes to the background, where the system may
  /// suspend it. It is like ``becameActive`` otherwise. By default, it has no elements.
  var leftActive: AsyncStream<Void> { get }
}

extension AppActivity {
  /// A new stream without elements, which lives as long as its reader.
  public var leftActive: AsyncStream<Void> { AsyncStream { _ in } }
}

/// The moments at which the app becomes active and goes to the background, from the operating
/// system.
///
/// - On Apple platforms, the sources are the notifications of `UIApplication`, `NSApplication` or
///   `WKApplication`.
/// - On macOS, no app is suspended, so `leftActive` has no elements.
/// - On other platforms, programs do not become active, and the streams have no elements. They live
///   as long as their readers.
public struct SystemAppActivity: AppActivity {
  /// Creates the source. Nothing is observed until a stream is read.
  public init() {}

  #if canImport(Darwin)
    // By value, so that a program without a user interface links no framework for the name.
    #if os(macOS)
      private static let name = Notification.Name("NSApplicationDidBecomeActiveNotification")
    #elseif os(watchOS)
      private static let name = Notification.Name("WKApplicationDidBecomeActiveNotification")
      private static let left = Notification.Name("WKApplicationDidEnterBackgroundNotification")
    #else
      private static let name = Notification.Name("UIApplicationDidBecomeActiveNotification")
      private static let left = Notification.Name("UIApplicationDidEnterBackgroundNotification")
    #endif

    /// A new stream with an element each time the app becomes active; buffers one element.
    public var becameActive: AsyncStream<Void> { Self.moments(Self.name) }

    #if !os(macOS)
      /// A new stream with an element each time the app goes to the background; buffers one.
      public var leftActive: AsyncStream<Void> { Self.moments(Self.left) }
    #endif

    private static func moments(_ name: Notification.Name) -> AsyncStream<Void> {
      let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
      // Made before the task, so that no notification is missed in between.
      let iterator = SendingBox(NotificationCenter.default.notifications(named: name).makeAsyncIterator())
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
