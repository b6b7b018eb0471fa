import ArgumentParser
import Foundation

/// The request body of the command line: text, or `@` and a file name.
enum BodyArgument {
  static func parse(_ text: String) throws -> Data {
    guard text.hasPrefix("@") else { return Data(text.utf8) }
    let path = String(text.dropFirst())
    do {
      return try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ValidationError("the file '\(path)' cannot be read; check its path and its permissions")
    }
  }
}
