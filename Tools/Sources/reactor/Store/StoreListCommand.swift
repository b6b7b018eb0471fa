import ArgumentParser
import Foundation
import ReactorCore

struct StoreListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the records: key, size, times and URL.", discussion: ExitCodes.ofStore)

  @OptionGroup var options: StoreOptions

  @Flag(help: "Print an array of objects: key, url, size, fetchedAt, freshUntil.")
  var json = false

  func run() async throws {
    try await options.run { store in
      let entries = try await store?.responses() ?? []
      let lines = entries.sorted { ($0.key.url, $0.key.digest) < ($1.key.url, $1.key.digest) }.map(RecordLine.init)
      try StandardStream.output.write(json ? JSONOutput.bytes(lines) : Data((RecordLine.table(lines) + "\n").utf8))
      return ExitCode.success.rawValue
    }
  }
}
