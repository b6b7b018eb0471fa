import ArgumentParser
import Foundation
import ReactorCore
import ReactorOutbox

struct OutboxDrainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drain",
    abstract: "Sends the waiting requests, and prints the count of entries that have not ended.",
    discussion: """
      It sends the requests of each lane in their order, until no entry is left that can be sent or the time is over. It exits \
      with 0 if every entry has ended, else with 75. Refused entries have ended; list them with reactor outbox list.

      A request that is interrupted, also by the end of the time, has an unknown outcome. It is sent again under its \
      Idempotency-Key. After a 401, nothing more is sent; the next drain tries again. Two drains at the same time are safe.
      """)

  @OptionGroup var options: OutboxOptions

  @Option(
    help: ArgumentHelp("Stop after this time. (default: 30s)", valueName: "duration"), transform: DurationArgument.parse
  )
  var within: Duration = .seconds(30)

  @Option(
    help: ArgumentHelp("The limit for each attempt. (default: 60s)", valueName: "duration"),
    transform: DurationArgument.parsePositive)
  var timeout: Duration = .seconds(60)

  @Flag(help: "Print each event as one line on standard error.")
  var trace = false

  func run() async throws {
    let (options, drain) = (options, Drain(within: within, isTraced: trace))
    throw ExitCode(
      await Interrupt.cancelling { [timeout] in
        await options.status(timeout: timeout) { try await drain.run(in: $0) }
      })
  }
}

/// The work of `reactor outbox drain`, independent of the command line.
struct Drain: Sendable {
  let within: Duration
  let isTraced: Bool

  /// Sends the entries, and prints the count of those that have not ended.
  ///
  /// - Parameter outbox: `nil` if there is none.
  /// - Returns: The exit code.
  /// - Throws: The error of the store, or of standard output.
  func run(in outbox: CommandOutbox?) async throws -> Int32 {
    // A write without a reader fails, instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    guard let outbox else { return try printed(0, nil) }
    let token = isTraced ? outbox.layer.observeEvents { StandardStream.error.writeLine(TraceLine.text($0)) } : nil
    defer { token?.cancel() }
    if within > .zero { await outbox.outbox.drain(within: within) }
    await outbox.outbox.stop()
    // The count includes entries that other processes added to the store.
    try await outbox.reload()
    return try printed(outbox.pending.count, await outbox.failure())
  }

  private func printed(_ count: Int, _ failure: ReactorError?) throws -> Int32 {
    do { try StandardStream.output.write(Data("\(count)\n".utf8)) } catch { throw ExitStatus.unwritableOutput }
    guard count > 0 else { return ExitCode.success.rawValue }
    if let failure { throw ExitStatus(failure) }
    throw ExitStatus(
      code: ExitStatus.timedOut, text: count == 1 ? "1 entry has not ended" : "\(count) entries have not ended")
  }
}
