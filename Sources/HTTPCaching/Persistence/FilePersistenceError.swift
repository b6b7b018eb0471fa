public import Foundation

/// A call of the operating system that failed for ``FilePersistence``: which, on what path, and why.
///
/// What was stored before is as it was.
public struct FilePersistenceError: Error, Sendable, Hashable {
  /// The call that was tried.
  public let operation: Operation
  /// On what file or directory. Its name holds digests alone.
  public let path: String
  /// The system's `errno`.
  public let code: Int32

  public init(operation: Operation, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  @nonexhaustive public enum Operation: String, Sendable, Hashable, CaseIterable {
    case open, create, inspect, read, write, synchronize, close, rename, remove, list
    case createDirectory = "create the directory"
    /// Noting when a record was used last. Its failure is never thrown.
    case touch
  }
}

extension FilePersistenceError: CustomStringConvertible, LocalizedError {
  public var description: String {
    "cannot \(operation.rawValue) \(path): \(FileSystem.text(of: code)) (errno \(code))\(advice.map { "; \($0)" } ?? "")"
  }

  public var errorDescription: String? { description }

  /// The remedy.
  private var advice: String? {
    switch FileSystem.Cause(code) {
    case .full: "free some space, or give FilePersistence another directory"
    case .denied: "make the directory writable for this user, or give FilePersistence another one"
    case .notADirectory: "a part of the path is a file; remove it, or give FilePersistence another directory"
    case .tooLarge: "the record alone is larger than the limit; raise FilePersistence's limit"
    case .invalid: "give FilePersistence a file URL"
    case .other: nil
    }
  }
}
