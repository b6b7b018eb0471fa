import ArgumentParser
import Foundation
import ReactorCore

struct StoreVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Reads every record, and names the unreadable ones.",
    discussion: """
      It changes nothing.

      \(ExitCodes.help([
        0: "every record can be read",
        64: "the arguments are invalid",
        65: "a record cannot be read",
        74: "the store or standard output failed",
      ]))
      """)

  @OptionGroup var options: StoreOptions

  @Flag(help: "Print an array of objects: place, reason.")
  var json = false

  func run() async throws {
    let store = options.store
    let status: Int32
    do {
      let defects = store.exists ? try await Store.verify(store) : []
      try StandardStream.output.write(json ? JSONOutput.bytes(defects.map(Line.init)) : Self.text(defects))
      status = defects.isEmpty ? ExitCode.success.rawValue : ExitStatus.unparsable
    } catch {
      let failure = ExitStatus(code: ExitStatus.inputOutput, text: "\(error)")
      failure.report()
      status = failure.code
    }
    throw ExitCode(status)
  }

  private struct Line: Encodable {
    let place: String
    let reason: String

    init(_ defect: Record.Defect) {
      place = defect.place
      reason = defect.reason
    }
  }

  private static func text(_ defects: [Record.Defect]) -> Data {
    let lines = defects.isEmpty ? ["every record can be read"] : defects.map { TraceLine.oneLine("\($0)") }
    return Data((lines.joined(separator: "\n") + "\n").utf8)
  }
}
