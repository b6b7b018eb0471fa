public import Foundation

/// The protection class of a store's files on iOS, tvOS, watchOS and visionOS: when the system
/// itself lets them be read.
///
/// ```swift
/// try StoreProtection.untilFirstUnlock.protect(directory)
/// let records = FilePersistence(directory: directory)
/// ```
///
/// It is a second lock beside the seal, and protects the lengths and times that the seal shows.
public enum StoreProtection: Sendable, Hashable, CaseIterable {
  /// Readable once the device was unlocked after it has started. For stores that are used in the
  /// background.
  case untilFirstUnlock
  /// Readable while the device is unlocked, and afterwards through files that are still open. For a
  /// database.
  case unlessOpen
  /// Readable only while the device is unlocked. A store in use then fails with an error of the
  /// system when the device is locked.
  case complete

  /// Creates a directory if it does not exist, and gives it the class, which files get that are
  /// created in it later. On macOS and Linux, nothing but the directory is created.
  ///
  /// - Throws: An error of the system.
  public func protect(_ directory: URL) throws {
    try FileManager.default.createDirectory(
      at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    #if canImport(Darwin)
      #if !os(macOS)
        try FileManager.default.setAttributes(
          [.protectionKey: type], ofItemAtPath: directory.path(percentEncoded: false))
      #endif
    #endif
  }

  #if canImport(Darwin)
    #if !os(macOS)
      private var type: FileProtectionType {
        switch self {
        case .untilFirstUnlock: .completeUntilFirstUserAuthentication
        case .unlessOpen: .completeUnlessOpen
        case .complete: .complete
        }
      }
    #endif
  #endif
}
