import ArgumentParser
import Foundation
import ReactorCore

struct StoreClearCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear", abstract: "Removes every record.", discussion: ExitCodes.ofStore)

  @OptionGroup var options: StoreOptions

  func run() async throws {
    try await options.run { store in
      let count = try await store?.responses().count ?? 0
      try await store?.persistence.removeAll(in: nil)
      try StandardStream.output.write(Data("removed \(count) \(count == 1 ? "record" : "records")\n".utf8))
      return ExitCode.success.rawValue
    }
  }
}
