import ArgumentParser
import CommandSupport
import Foundation
import Testing

@testable import reactor

@Suite(.timeLimit(.minutes(5))) struct `The help of reactor` {
  /// The words of each command that does something.
  private static let commands = leaves(of: ReactorCommand.self, [])
  private static let groups = [[], ["outbox"], ["store"], ["fleet"]]

  private static func leaves(of command: any ParsableCommand.Type, _ words: [String]) -> [[String]] {
    let subcommands = command.configuration.subcommands
    guard !subcommands.isEmpty else { return [words] }
    return subcommands.flatMap { leaves(of: $0, words + [$0.configuration.commandName].compactMap(\.self)) }
  }

  @Test(arguments: commands)
  func `the help of reactor begins with the usage, and ends with the exit codes`(words: [String]) async throws {
    let help = try await Command.run(words + ["--help"])
    #expect(help.status == 0 && help.error == "")
    #expect(help.output.hasPrefix("USAGE: reactor \(words.joined(separator: " ")) "))
    #expect(help.output.contains("\n\nOVERVIEW: ") && help.output.contains("\n\nOPTIONS:\n"))
    let (codes, lines) = Self.codes(help.output)
    #expect(codes == codes.sorted() && codes.first == 0 && codes.contains(64))
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(try await Command.run(["help"] + words).output == help.output)
  }

  /// Returns the codes of the last part, and its lines.
  private static func codes(_ help: String) -> ([Int], [Substring]) {
    guard let heading = help.range(of: "\n\nEXIT CODES:\n") else { return ([], []) }
    let lines = help[heading.upperBound...].split(separator: "\n")
    return (lines.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }, lines)
  }

  @Test(arguments: groups) func `begins with the usage, and lists the commands`(words: [String]) async throws {
    let help = try await Command.run(words + ["--help"])
    #expect(help.status == 0 && help.output.hasPrefix("USAGE: reactor"))
    #expect(help.output.contains("\n\nSUBCOMMANDS:\n") && help.output.contains(" <subcommand>' for detailed help."))
    #expect(try await Command.run(words).output == help.output)
  }

  @Test func `the help of reactor has the prose of the proxy after its options`() async throws {
    let help = try await Command.run("proxy", "--help").output
    let options = try #require(help.range(of: "\n\nOPTIONS:\n"))
    let prose = try #require(help.range(of: "\n\nIt prints the URL that it listens on."))
    #expect(options.lowerBound < prose.lowerBound)
    #expect(help.contains("\n\nEXIT CODES:\n     0  interrupted or terminated, after it has served\n"))
  }

  @Test func `the help of reactor has each code with which bad input ends`() async throws {
    let (codes, _) = Self.codes(try await Command.run("fetch", "--help").output)
    let used = Set(`Bad input to reactor fetch`.bad.map { Int($0.status) })
    #expect(used.isSubset(of: codes) && used.count > 5)
  }

  @Test func `the help of reactor is not mixed up with a usage error, which goes to standard error`() async throws {
    let result = try await Command.run("fetch")
    #expect(result.status == 64 && result.output == "")
    #expect(result.error.hasPrefix("Error: Missing expected argument '<url>'"))
  }
}

@Suite struct `The order of a help` {
  @Test func `the order of a help is as it was where there is no usage or no overview`() {
    for text in ["", "0.2.0", "USAGE: a\n\nOPTIONS:\n  -h\n", "OVERVIEW: a\n\nb"] {
      #expect(HelpText.usageFirst(text) == text)
    }
  }

  @Test func `the order of a help is usage, overview, options and prose`() {
    let help = "OVERVIEW: Does it.\n\nOne.\n\nTwo.\n\nUSAGE: a [--b]\n\nOPTIONS:\n  --b\n\n  See 'a help'.\n"
    #expect(
      HelpText.usageFirst(help)
        == "USAGE: a [--b]\n\nOVERVIEW: Does it.\n\nOPTIONS:\n  --b\n\n  See 'a help'.\n\nOne.\n\nTwo.")
  }
}
