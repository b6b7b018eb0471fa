import ArgumentParser
import Foundation

/// Hides the values of arguments in messages about them: the parser quotes invalid values, and logs
/// keep the messages.
enum HiddenArguments {
  /// The options whose values may be secret, wherever the parser finds the words of them.
  private static let secret: Set<Substring> = ["--header", "--body", "--query", "--fleet"]

  /// Returns a message without the values that may be secret: all values beside such an option, and
  /// otherwise values that are more than a word, a number or a path.
  static func hiding(_ arguments: [String], in message: String) -> String {
    let hidesAll = arguments.contains { secret.contains($0.prefix { $0 != "=" }) }
    var message = message
    for argument in arguments {
      let isOption = argument.hasPrefix("-")
      guard let value = isOption ? argument.split(separator: "=", maxSplits: 1).dropFirst().first : argument[...],
        hidesAll || !value.utf8.allSatisfy(isPlain)
      else { continue }
      message = message.replacing("'\(value)'", with: "'…'")
      if isOption { message = message.replacing("=\(value)", with: "=…") }
    }
    return message
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}

extension ReactorCommand {
  static func main() async {
    do {
      var command = try parseAsRoot()
      if var asynchronous = command as? any AsyncParsableCommand {
        try await asynchronous.run()
      } else {
        try command.run()
      }
    } catch {
      let code = exitCode(for: error)
      // A command that has said why it ends.
      guard !(error is ExitCode) else { exit(withError: error) }
      // Help, the version, or a script of completions.
      guard !code.isSuccess else {
        StandardStream.output.writeLine(HelpText.usageFirst(fullMessage(for: error)))
        Foundation.exit(code.rawValue)
      }
      let arguments = Array(CommandLine.arguments.dropFirst())
      StandardStream.error.writeLine(HiddenArguments.hiding(arguments, in: fullMessage(for: error)))
      Foundation.exit(code.rawValue)
    }
  }
}
