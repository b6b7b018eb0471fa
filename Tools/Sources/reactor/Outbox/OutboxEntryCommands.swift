import ArgumentParser
import Foundation
import ReactorCore
import ReactorOutbox

struct OutboxRetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Puts a refused or unresolved entry back at the end of its lane.",
    discussion: """
      The entry keeps its id. A refused request is sent under a new Idempotency-Key, an unresolved one under its own.

      \(ExitCodes.ofEntry)
      """)

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only refused, conflicted and unresolved entries can be retried") { outbox, id in
      await outbox.retry(id)
    }
  }
}

struct OutboxDiscardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Removes a refused, unresolved or unreadable entry.",
    discussion: ExitCodes.ofEntry)

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only refused, conflicted, unresolved and unreadable entries can be discarded") {
      await $0.discard($1)
    }
  }
}

struct OutboxWithdrawCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "withdraw",
    abstract: "Withdraws an entry that was not sent yet.",
    discussion: ExitCodes.ofEntry)

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only entries that were never sent can be withdrawn") { await $0.withdraw($1) }
  }
}

extension ExitCodes {
  /// The exit codes of a command that acts on one entry.
  fileprivate static let ofEntry = help([
    0: "done",
    64: "the arguments are invalid",
    65: "there is no such entry, or its state forbids it, or a part of the outbox\n        was damaged and set aside",
    74: "the outbox failed",
  ])
}

/// The entry argument and the outbox option of a subcommand.
struct OutboxEntryOptions: ParsableArguments {
  @Argument(help: "The id of the entry, as reactor send prints it.")
  var id: String

  @OptionGroup var options: OutboxOptions

  /// Opens the outbox, finds the entry, runs `body`, and exits: with 0 if `body` returns `true`.
  ///
  /// - Parameter rule: The states of an entry for which `body` returns `true`, in words.
  func run(needing rule: String, _ body: (Outbox, Outbox.Entry.ID) async -> Bool) async throws -> Never {
    try await options.run { outbox in
      guard let outbox, let id = UUID(uuidString: id), outbox.entry(id) != nil else { throw missing }
      guard await !body(outbox.outbox, id) else { return ExitCode.success.rawValue }
      if let failure = await outbox.failure() { throw failure }
      // Another process may have changed the entry meanwhile.
      try await outbox.reload()
      guard let entry = outbox.entry(id) else { throw missing }
      throw ExitStatus(code: ExitStatus.unparsable, text: "the entry is \(entry.state.text); \(rule)")
    }
  }

  private var missing: ExitStatus {
    ExitStatus(
      code: ExitStatus.unparsable, text: "the outbox has no entry '\(id)'; list them with: reactor outbox list")
  }
}
