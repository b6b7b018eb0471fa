import ArgumentParser
import Foundation

/// The location of a store: a directory, or a file whose name ends in `.sqlite`. It need not exist.
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
    guard !text.isEmpty else {
      throw ValidationError("give the name of a directory, or of a file that ends in .sqlite")
    }
    return StoreArgument(text)
  }

  var directory: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// A Boolean value that indicates whether the path exists.
  var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
