import ArgumentParser
import Foundation

/// Where records are kept: a directory, or a file whose name ends in `.sqlite`; it need not exist yet.
struct StoreArgument: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case directory, database
  }

  let path: String
  let kind: Kind

  init(_ path: String) {
    self.path = path
    kind = path.hasSuffix(".sqlite") ? .database : .directory
  }

  static func parse(_ text: String) throws -> StoreArgument {
    guard !text.isEmpty else { throw ValidationError("a directory has a name") }
    return StoreArgument(text)
  }

  var directory: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// Whether there is anything at the path.
  var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
