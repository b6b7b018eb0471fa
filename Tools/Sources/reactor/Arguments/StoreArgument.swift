import ArgumentParser
import Foundation

/// The store's directory; it need not exist yet.
enum StoreArgument {
  static func parse(_ text: String) throws -> URL {
    guard !text.isEmpty else { throw ValidationError("a directory has a name") }
    return URL(filePath: text, directoryHint: .isDirectory)
  }
}
