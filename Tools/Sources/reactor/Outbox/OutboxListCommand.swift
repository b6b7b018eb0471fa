import ArgumentParser
import Foundation
import ReactorOutbox

struct OutboxListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the entries in their order: not accepted yet, refused, or without a known outcome.")

  @OptionGroup var options: OutboxOptions

  @Flag(help: "Print an array of objects: id, state, reason, lane, method, url, attempts, submittedAt, status.")
  var json = false

  func run() async throws {
    try await options.run { outbox in
      let lines = outbox?.outbox.entries.map(OutboxLine.init) ?? []
      do {
        try StandardStream.output.write(json ? JSONOutput.bytes(lines) : Data((OutboxLine.table(lines) + "\n").utf8))
      } catch {
        throw ExitStatus.unwritableOutput
      }
      return ExitCode.success.rawValue
    }
  }
}
