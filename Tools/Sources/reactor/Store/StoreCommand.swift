import ArgumentParser

/// `reactor store`: what a store holds.
struct StoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "store",
    abstract: "Looks into a store of records, and tidies it.",
    discussion: """
      A store is a directory, or an SQLite file whose name ends in .sqlite. KEY is a record's key as list prints it, or as much of its \
      beginning as no other has. A store that does not exist is empty, and is not made.
      """,
    subcommands: [
      StoreListCommand.self, StoreShowCommand.self, StoreRemoveCommand.self, StoreVerifyCommand.self,
      StoreClearCommand.self, StoreCompactCommand.self,
    ])
}

/// Which store; every subcommand's.
struct StoreOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The directory, or the .sqlite file.", valueName: "path"), transform: StoreArgument.parse)
  var store: StoreArgument

  /// Opens the store, runs `body` with it (`nil`: there is none), and ends the process with the exit code that it gives.
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
