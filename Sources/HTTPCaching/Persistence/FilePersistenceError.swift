public import Foundation

extension FilePersistence {
  /// A failed system call of ``FilePersistence``, or of another store in files.
  ///
  /// ```swift
  /// do {
  ///   try await persistence.save(record, for: key)
  /// } catch let failure as FilePersistence.Failure where failure.code == ENOSPC {
  ///   warn("The disk is full: \(failure.path)")
  /// }
  /// ```
  ///
  /// A failed save leaves the earlier record unchanged; ``FilePersistence/Synchronization/full``
  /// has the one exception. A failed removal may have removed some of the records.
  public struct Failure: Error, Sendable, Hashable {
    /// The call that failed.
    public let operation: Operation
    /// The path of the file or directory. Below the store's directory, names hold digests only.
    public let path: String
    /// The `errno` of the failure. A record larger than the limit is `EFBIG`, and a directory that
    /// is not a file URL is `EINVAL`.
    public let code: Int32

    /// Creates an error from its parts.
    public init(operation: Operation, path: String, code: Int32) {
      self.operation = operation
      self.path = path
      self.code = code
    }

    /// A system call, named as in the error's description.
    @nonexhaustive public enum Operation: String, Sendable, Hashable, CaseIterable {
      /// A call on a file or directory. `inspect` reads its status, and `list` the names in it.
      case open, create, inspect, read, write, synchronize, truncate, lock, close, rename, remove, list
      /// The creation of a directory, or of one above it.
      case createDirectory = "create the directory"
      /// The note of a record's last use. Its failure is never thrown.
      case touch
    }
  }
}

extension FilePersistence.Failure: CustomStringConvertible, LocalizedError {
  /// A sentence with the call, the path, the `errno` and, where one is known, a remedy.
  public var description: String {
    "cannot \(operation.rawValue) \(path): \(FileSystem.text(of: code)) (errno \(code))\(advice.map { "; \($0)" } ?? "")"
  }

  public var errorDescription: String? { description }

  /// The remedy; `nil` if no remedy is known.
  private var advice: String? {
    switch FileSystem.Cause(code) {
    case .full: "free some space, or give the store another directory"
    case .denied: "make the directory writable for this user, or give the store another one"
    case .notADirectory: "a part of the path is a file; remove it, or give the store another directory"
    case .tooLarge: "the record is larger than the whole limit; raise the store's limit"
    case .invalid: "give the store a file URL"
    case .other: nil
    }
  }
}
