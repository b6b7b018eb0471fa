import ArgumentParser
import Foundation
import ReactorOutbox

struct OutboxListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists the entries in their order: not accepted yet, refused, or without a known outcome.",
    discussion: ExitCodes.help([
      0: "the entries were listed",
      64: "the arguments are invalid",
      65: "a part of the outbox was damaged and set aside",
      74: "the outbox or standard output failed",
    ]))

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
