import ArgumentParser
import Foundation
import ReactorCore

struct StoreRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "remove", abstract: "Removes a record.")

  @Argument(help: "The record's key, or its beginning.")
  var key: String

  @OptionGroup var options: StoreOptions

  func run() async throws {
    try await options.run { store in
      let key = try await StoreKey.find(key, in: store)
      try await store?.persistence.remove(key)
      try StandardStream.output.write(Data("removed \(TraceLine.oneLine("\(key)"))\n".utf8))
      return ExitCode.success.rawValue
    }
  }
}

struct StoreClearCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "clear", abstract: "Removes every record.")

  @OptionGroup var options: StoreOptions

  func run() async throws {
    try await options.run { store in
      let count = try await store?.persistence.entries(in: nil, url: nil).count ?? 0
      try await store?.persistence.removeAll(in: nil)
      try StandardStream.output.write(Data("removed \(count) \(count == 1 ? "record" : "records")\n".utf8))
      return ExitCode.success.rawValue
    }
  }
}

struct StoreCompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Gives the space of removed records back to the disk.")

  @OptionGroup var options: StoreOptions

  func run() async throws {
    try await options.run { store in
      try await store?.compact()
      return ExitCode.success.rawValue
    }
  }
}
