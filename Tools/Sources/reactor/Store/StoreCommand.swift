import ArgumentParser

/// `reactor store`: lists, shows, removes and checks the records of a store.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Lists, shows, verifies and removes the records of a store.",
    discussion: """
      A store is a directory, or an SQLite file whose name ends in .sqlite. KEY is a record's key as list prints it, or the \
      beginning of only one key. A store that does not exist is empty, and is not created. The help of each \
      subcommand has its exit codes.
      """,
    subcommands: [
      StoreListCommand.self, StoreShowCommand.self, StoreRemoveCommand.self, StoreVerifyCommand.self,
      StoreClearCommand.self, StoreCompactCommand.self,
    ])
}

extension ExitCodes {
  /// The exit codes of a command for all records.
  static let ofStore = help([
    0: "done",
    64: "the arguments are invalid",
    74: "the store or standard output failed",
  ])

  /// The exit codes of a command for one record.
  static let ofRecord = help([
    0: "done",
    64: "the arguments are invalid, or several keys have that beginning",
    66: "the store has no such record",
    74: "the store or standard output failed",
  ])
}

/// The store option of every subcommand.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The directory, or the .sqlite file.", valueName: "path"), completion: .file(),
    transform: StoreArgument.parse)
  var store: StoreArgument

  /// Opens the store, runs `body`, and exits with the code that it returns. `body` gets `nil` if
  /// there is no store.
  func run(_ body: (Store?) async throws -> Int32) async throws -> Never {
    throw ExitCode(await status(body))
  }

  private func status(_ body: (Store?) async throws -> Int32) async -> Int32 {
    do {
      return try await body(store.exists ? try Store(store) : nil)
    } catch let status as ExitStatus {
      status.report()
      return status.code
    } catch {
      let status = ExitStatus(code: ExitStatus.inputOutput, text: "\(error)")
      status.report()
      return status.code
    }
  }
}

extension ExitStatus: Error {}
