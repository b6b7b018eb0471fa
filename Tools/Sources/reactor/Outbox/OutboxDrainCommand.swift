import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox

struct OutboxDrainCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drain",
    abstract: "Sends the waiting requests, and prints the number of unfinished entries.",
    discussion: """
      It sends the requests of each lane in order, until no entry can be sent or the time is over. \
      Refused entries are finished. Their number is on standard error, as is that of the entries whose outcome is unknown and \
      that are not sent again; list both with reactor outbox list.

      A request that is interrupted, or runs out of time, has an unknown outcome. It is sent again under its \
      Idempotency-Key. After a 401, nothing more is sent; the next drain tries again. Two drains at the same time are safe.

      An outbox saves no secrets. --header adds a field to each request when it is sent, such as 'Authorization: Bearer …'. The \
      variable REACTOR_AUTHORIZATION has the value of Authorization, and does not show in the list of processes. Both are added to \
      requests to one origin only: the --origin, or the common origin of all entries.

      \(ExitCodes.help([
        0: "every entry is finished",
        64: "the arguments are invalid",
        65: "a part of the outbox was damaged and set aside",
        74: "the outbox or standard output failed",
        75: "entries are left",
        130: "interrupted",
        143: "terminated",
      ]))
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

  @Option(
    name: .customLong("header"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A header field for each request, 'Name: value'; may be repeated, and is not saved.", valueName: "name: value"),
    transform: CredentialArgument.parse)
  var headers: [HTTPField] = []

  @Option(
    help: ArgumentHelp("The origin that gets the fields. (default: the origin of all entries)", valueName: "url"),
    transform: OriginArgument.parse)
  var origin: String?

  @Flag(help: "Print each event as one line on standard error.")
  var trace = false

  func run() async throws {
    let drain = Drain(within: within, isTraced: trace, fields: headers, origin: origin)
    let options = options
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
  /// The fields that are added to each request.
  let fields: [HTTPField]
  let origin: String?

  /// Sends the entries, and prints the number of unfinished entries.
  ///
  /// - Parameter outbox: `nil` if it does not exist.
  /// - Returns: The exit code.
  /// - Throws: The error of the store, or of standard output.
  func run(in outbox: CommandOutbox?) async throws -> Int32 {
    // A write without a reader fails, instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    guard let outbox else { return try printed(0, nil) }
    let token = isTraced ? outbox.layer.observeEvents { StandardStream.error.writeLine(TraceLine.text($0)) } : nil
    defer { token?.cancel() }
    let authorization = try OutboxCredential.ofEnvironment(ProcessInfo.processInfo.environment)
    let fields = fields.contains { $0.name == .authorization } ? fields : fields + [authorization].compactMap(\.self)
    outbox.use(try OutboxCredential.for(outbox.pending, fields, origin: origin))
    let earlier = Set(outbox.failed.map(\.id))
    if within > .zero { await outbox.outbox.drain(within: within) }
    await outbox.outbox.stop()
    // The count includes entries that other processes added to the store.
    try await outbox.reload()
    report(outbox.failed.filter { !earlier.contains($0.id) })
    return try printed(outbox.pending.count, await outbox.failure(), needsSignIn: outbox.needsSignIn)
  }

  /// Says how many entries this drain has ended without an acceptance.
  private func report(_ failed: [Outbox.Entry]) {
    guard !failed.isEmpty else { return }
    let refused = failed.count { if case .refused = $0.state { true } else { false } }
    let unresolved = failed.count - refused
    let parts = [
      refused == 0 ? nil : refused == 1 ? "1 entry was refused" : "\(refused) entries were refused",
      unresolved == 0 ? nil : "the outcome of \(unresolved) \(unresolved == 1 ? "entry" : "entries") is unknown",
    ]
    let text = parts.compactMap(\.self).joined(separator: ", and ")
    StandardStream.error.writeLine("reactor: \(text); see reactor outbox list")
  }

  private func printed(_ count: Int, _ failure: ReactorError?, needsSignIn: Bool = false) throws -> Int32 {
    do { try StandardStream.output.write(Data("\(count)\n".utf8)) } catch { throw ExitStatus.unwritableOutput }
    guard count > 0 else { return ExitCode.success.rawValue }
    if let failure { throw ExitStatus(failure) }
    let text = count == 1 ? "1 entry is unfinished" : "\(count) entries are unfinished"
    throw ExitStatus(
      code: ExitStatus.timedOut, text: needsSignIn ? "\(text); \(OutboxCredential.missing)" : text)
  }
}
