import ArgumentParser
import Foundation

/// A request's body as it is written on the command line: the text itself, or `@` and a file's name.
enum BodyArgument {
  static func parse(_ text: String) throws -> Data {
    guard text.hasPrefix("@") else { return Data(text.utf8) }
    let path = String(text.dropFirst())
    do {
      return try Data(contentsOf: URL(filePath: path))
    } catch {
      throw ValidationError("the file '\(path)' cannot be read")
    }
  }
}
