import ArgumentParser

struct StoreCompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact", abstract: "Returns the space of removed records to the disk.",
    discussion: ExitCodes.ofStore)

  @OptionGroup var options: StoreOptions

  func run() async throws {
    try await options.run { store in
      try await store?.compact()
      return ExitCode.success.rawValue
    }
  }
}
