// Foundation with its parts for Apple systems only: the modules that it exports there, and
// declarations. A file that imports Foundation is given this instead; so what is declared here
// hides what Foundation or Glibc declare otherwise.

@_exported public import Darwin
@_exported public import DispatchOnApple
@_exported public import Foundation
@_exported public import FoundationNetworking

// Glibc declares an enumeration.
public let SOCK_STREAM: Int32 = 1
public let MSG_PEEK: Int32 = 2

extension ProcessInfo {
  public var isLowPowerModeEnabled: Bool { false }

  public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}

extension NSNotification.Name {
  public static var NSProcessInfoPowerStateDidChange: NSNotification.Name { NSNotification.Name("") }
}

extension NotificationCenter {
  public final class Notifications: AsyncSequence, Sendable {
    public struct Iterator: AsyncIteratorProtocol {
      public mutating func next() async -> Notification? { nil }
      public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? { nil }
    }

    public func makeAsyncIterator() -> Iterator { Iterator() }
  }

  public func notifications(named name: Notification.Name, object: AnyObject? = nil) -> Notifications {
    Notifications()
  }
}

public struct FileProtectionType: Sendable {
  public static let completeUntilFirstUserAuthentication = FileProtectionType()
  public static let completeUnlessOpen = FileProtectionType()
  public static let complete = FileProtectionType()
}

extension FileAttributeKey {
  public static var protectionKey: FileAttributeKey { FileAttributeKey(rawValue: "NSFileProtectionKey") }
}

/// The other strategies are inherited.
open class JSONEncoder: Foundation.JSONEncoder {
  public enum DateEncodingStrategy: Sendable {
    case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
    case formatted(DateFormatter)
    case custom(@Sendable (Date, any Encoder) throws -> Void)
  }
}

/// The other strategies are inherited.
open class JSONDecoder: Foundation.JSONDecoder {
  public enum DateDecodingStrategy: Sendable {
    case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601
    case formatted(DateFormatter)
    case custom(@Sendable (any Decoder) throws -> Date)
  }
}
