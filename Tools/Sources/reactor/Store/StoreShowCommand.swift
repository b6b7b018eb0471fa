import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore

struct StoreShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Prints a record: the response's status and fields, an empty line, and the body as it was received.",
    discussion: ExitCodes.ofRecord)

  @OptionGroup var record: StoredRecordOptions

  func run() async throws {
    try await record.run { store, key in
      guard let record = try await store.persistence.load(key) else {
        throw ExitStatus(
          code: ExitStatus.notCached, text: "the record was removed while it was read; fetch the resource again")
      }
      var lines = ["\(key)", "\(record.head.status.code) \(record.head.status.reasonPhrase)"]
      if let model = record.head.localModel { lines = ["\(key)", "written locally, as \(model)"] }
      lines += record.head.fields.map { "\($0.name.rawName): \($0.value)" }
      let head = lines.map(TraceLine.oneLine).joined(separator: "\n") + "\n\n"
      try StandardStream.output.write(Data(head.utf8) + record.body + Data("\n".utf8))
      return ExitCode.success.rawValue
    }
  }
}
