import ArgumentParser
import Foundation
import ReactorCore
import ReactorOutbox

/// `reactor outbox`: lists and sends the entries of an outbox, and decides about them.
struct OutboxCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "outbox",
    abstract: "Lists and sends the requests that reactor send has saved.",
    discussion: """
      An outbox is a directory, or an SQLite file whose name ends in .sqlite. Several processes may use one at the same \
      time. An outbox that does not exist is empty, and is not created.

      A damaged journal or database is set aside under another name. Every command then names the file on standard error, \
      does its work with the rest, and exits with 65 instead of 0, until you move the file away. The help of each has all its exit codes.
      """,
    subcommands: [
      OutboxListCommand.self, OutboxDrainCommand.self, OutboxRetryCommand.self, OutboxDiscardCommand.self,
      OutboxWithdrawCommand.self,
    ])
}

/// The outbox option of every subcommand.
struct OutboxOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("The directory of the outbox, or its .sqlite file.", valueName: "path"),
    completion: .file(), transform: StoreArgument.parse)
  var outbox: StoreArgument

  /// Opens the outbox, reads it, runs `body`, and exits with the code that it returns. `body` gets
  /// `nil` if there is no outbox.
  func run(_ body: (CommandOutbox?) async throws -> Int32) async throws -> Never {
    throw ExitCode(await status(timeout: .seconds(60), body))
  }

  /// Opens the outbox, reads it, runs `body`, and reports parts that were set aside.
  ///
  /// - Returns: The exit code of `body`, or the code for an outbox that cannot be read. If a part
  ///   of the outbox was set aside, 65 instead of 0.
  func status(timeout: Duration, _ body: (CommandOutbox?) async throws -> Int32) async -> Int32 {
    do {
      guard outbox.exists else { return try await body(nil) }
      let opened = try CommandOutbox(outbox, timeout: timeout)
      try await opened.reload()
      defer { opened.reportSetAside() }
      let code = try await body(opened)
      return code == ExitCode.success.rawValue && !opened.outbox.setAside.isEmpty ? ExitStatus.unparsable : code
    } catch {
      let status = ExitStatus(ofOutbox: error)
      status.report()
      return status.code
    }
  }
}

extension ExitStatus {
  /// Creates the end for an error of an outbox: of its entries, or of its store.
  init(ofOutbox error: any Error) {
    switch error {
    case let status as ExitStatus: self = status
    case let error as ReactorError: self.init(error)
    default: self.init(code: Self.inputOutput, text: "\(error)")
    }
  }
}
