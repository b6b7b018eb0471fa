import ArgumentParser
import Foundation
import HTTPTypes
import ReactorCore
import ReactorOutbox

/// The work of `reactor send`, independent of the command line.
struct Send: Sendable {
  private let request: OutboxRequest
  private let path: StoreArgument
  private let lane: Lane
  private let window: Duration
  private let timeout: Duration
  private let wait: Duration?

  /// - Parameter body: The bytes of the command's body.
  init(_ command: SendCommand, body: Data?) {
    request = OutboxRequest(
      method: command.method, url: command.url, headerFields: HTTPFields(command.headers), body: body)
    path = command.options.outbox
    lane = Lane(rawValue: command.lane)
    window = command.idempotencyWindow
    timeout = command.timeout
    wait = command.wait
  }

  /// Saves the request, prints the id of its entry, and sends it if requested.
  ///
  /// - Returns: The exit code.
  func run() async -> Int32 {
    // A write without a reader fails, instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    do {
      // Invalid requests are refused before the outbox file is created.
      _ = try await submit(to: CommandOutbox(MemoryOutboxStorage()))
      let outbox = try CommandOutbox(path, timeout: timeout)
      if wait != nil { try await outbox.reload() }
      defer { if wait != nil { outbox.reportSetAside() } }
      let submission = try await submit(to: outbox)
      try print(Data("\(submission.id)\n".utf8))
      guard let wait else { return ExitCode.success.rawValue }
      try await send(submission, within: wait, outbox)
      return ExitCode.success.rawValue
    } catch {
      let status = ExitStatus(ofOutbox: error)
      status.report()
      return status.code
    }
  }

  private func submit(to outbox: CommandOutbox) async throws(ReactorError) -> Submission<Data> {
    try await outbox.layer.submit(request, lane: lane, idempotencyWindow: window)
  }

  /// Sends the entries of the lane until this request's entry is finished, and prints the response.
  ///
  /// - Throws: ``ExitStatus``, if the request was not accepted; the error of the store.
  private func send(_ submission: Submission<Data>, within wait: Duration, _ outbox: CommandOutbox) async throws {
    // Other processes may have added entries to the lane before this one.
    try await outbox.reload()
    let authorization = try OutboxCredential.ofEnvironment(ProcessInfo.processInfo.environment)
    let origin = OutboxCredential.origin(request.url)
    outbox.use(try OutboxCredential.for([], [authorization].compactMap(\.self), origin: origin))
    if wait > .zero { await outbox.outbox.drain(until: submission.id, within: wait) }
    await outbox.outbox.stop()
    guard !Task.isCancelled else {
      throw ExitStatus(
        code: ExitStatus.interrupted,
        text: "interrupted; the entry stays in the outbox, and reactor outbox drain sends it")
    }
    try await outbox.reload()
    let entry = outbox.entry(submission.id)
    guard let entry else { return try await printAnswer(of: submission) }
    if entry.state.isPending {
      if let failure = await outbox.failure() { throw ExitStatus(failure) }
      if outbox.needsSignIn {
        throw ExitStatus(
          code: ExitStatus.timedOut, text: "the entry stays in the outbox; \(OutboxCredential.missing)")
      }
      throw ExitStatus(
        code: ExitStatus.timedOut,
        text: "the entry is \(entry.state.text) and stays in the outbox; see reactor outbox list")
    }
    throw refusal(entry)
  }

  private func printAnswer(of submission: Submission<Data>) async throws {
    let body: Data
    do {
      body = try await submission.answer()
    } catch .network(MutationError.endedElsewhere) {
      StandardStream.error.writeLine("reactor: another process has finished the entry, and has its response")
      return
    }
    if !body.isEmpty { try print(body + Data("\n".utf8)) }
  }

  private func print(_ data: Data) throws(ExitStatus) {
    do { try StandardStream.output.write(data) } catch { throw ExitStatus.unwritableOutput }
  }
}

extension Send {
  /// Returns the outcome of a request that was not accepted.
  private func refusal(_ entry: Outbox.Entry) -> ExitStatus {
    guard case .refused(let error) = entry.state else {
      return ExitStatus(
        code: ExitStatus.server,
        text: "the outcome is unknown: the server may or may not have carried out the request; "
          + "to send it again, use reactor outbox retry")
    }
    var status = ExitStatus(error, of: FetchedRequest(method: request.method, url: request.url))
    status.code = ExitStatus.server
    return status
  }
}
