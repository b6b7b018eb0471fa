import ArgumentParser
import Foundation
import ReactorCore
import ReactorOutbox

struct OutboxRetryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry",
    abstract: "Puts an entry that was refused or is unresolved at the end of its lane again.",
    discussion: """
      The entry keeps its id. What was refused is sent under a new Idempotency-Key, what is unresolved under its own. \
      Exits with 65 if there is no such entry or its state forbids it.
      """)

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only what was refused, conflicted or is unresolved can be retried") { outbox, id in
      await outbox.retry(id)
    }
  }
}

struct OutboxDiscardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "discard",
    abstract: "Removes an entry that was refused, is unresolved or cannot be read.",
    discussion: "Exits with 65 if there is no such entry or its state forbids it.")

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only what was refused, conflicted, is unresolved or unreadable can be discarded") {
      await $0.discard($1)
    }
  }
}

struct OutboxWithdrawCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "withdraw",
    abstract: "Takes an entry back of which nothing was sent.",
    discussion: "Exits with 65 if there is no such entry or its state forbids it.")

  @OptionGroup var entry: OutboxEntryOptions

  func run() async throws {
    try await entry.run(needing: "only what was never sent can be withdrawn") { await $0.withdraw($1) }
  }
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
      if let failure = outbox.failure { throw failure }
      // Another process may have changed the entry meanwhile.
      try await outbox.outbox.reload()
      guard let entry = outbox.entry(id) else { throw missing }
      throw ExitStatus(code: ExitStatus.unparsable, text: "the entry is \(entry.state.text); \(rule)")
    }
  }

  private var missing: ExitStatus {
    ExitStatus(
      code: ExitStatus.unparsable, text: "the outbox has no entry '\(id)'; list them with: reactor outbox list")
  }
}
