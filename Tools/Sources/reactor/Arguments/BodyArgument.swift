import ArgumentParser
import Foundation

/// The request body of the command line: text, `@` and a file name, or `-` for standard input.
enum BodyArgument: Hashable, Sendable {
  case bytes(Data)
  case standardInput

  static func parse(_ text: String) throws -> BodyArgument {
    if text == "-" || text == "@-" { return .standardInput }
    guard text.hasPrefix("@") else { return .bytes(Data(text.utf8)) }
    let path = String(text.dropFirst())
    do {
      return .bytes(try Data(contentsOf: URL(filePath: path)))
    } catch {
      throw ValidationError("the file '\(path)' cannot be read; check its path and its permissions")
    }
  }

  /// Returns the bytes. Standard input is read to its end, on this thread, once.
  ///
  /// - Throws: `ExitCode`, after a line on standard error, if standard input cannot be read.
  func data() throws(ExitCode) -> Data {
    switch self {
    case .bytes(let data): return data
    case .standardInput:
      do { return try FileHandle.standardInput.readToEnd() ?? Data() } catch {
        let status = ExitStatus(
          code: ExitStatus.inputOutput, text: "standard input cannot be read; give the body as text or @file")
        status.report()
        throw ExitCode(status.code)
      }
    }
  }
}
