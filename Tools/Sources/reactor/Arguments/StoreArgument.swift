import ArgumentParser
import Foundation

/// Where records are kept: a directory, or a file whose name ends in `.sqlite`; it need not exist yet.
struct StoreArgument: ExpressibleByArgument, Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case directory, database
  }

  let path: String
  let kind: Kind

  init?(argument: String) {
    guard !argument.isEmpty else { return nil }
    path = argument
    kind = argument.hasSuffix(".sqlite") ? .database : .directory
  }

  var directory: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// Whether there is anything at the path.
  var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
