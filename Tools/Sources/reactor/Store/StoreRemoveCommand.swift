import ArgumentParser
import Foundation
import ReactorCore

struct StoreRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove", abstract: "Removes a record.", discussion: ExitCodes.ofRecord)

  @OptionGroup var record: StoredRecordOptions

  func run() async throws {
    try await record.run { store, key in
      try await store.persistence.remove(key)
      try StandardStream.output.write(Data("removed \(TraceLine.oneLine("\(key)"))\n".utf8))
      return ExitCode.success.rawValue
    }
  }
}
