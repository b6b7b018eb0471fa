import Foundation
import ReactorCore

/// `reactor fetch --watch`: a line for each new state of a resource, until the task is cancelled.
struct Watch: Sendable {
  let reactor: Reactor<Data>
  let resource: Resource
  let policy: FetchPolicy
  /// How long after an answer the server is asked again; `nil` is never.
  let interval: Duration?

  /// - Returns: the exit code.
  func run() async -> Int32 {
    // A write that nobody reads is to fail, and not to end the process.
    signal(SIGPIPE, SIG_IGN)
    let status = await withTaskGroup(of: ExitStatus?.self) { group in
      group.addTask { await printStates() }
      group.addTask { await StandardStream.output.untilNobodyReads() ? .unwritableOutput : nil }
      // The first to end ends the watch: without a reader, no further state might come whose line could not be written.
      let status = await group.next()
      group.cancelAll()
      return status ?? nil
    }
    status?.report()
    return status?.code ?? 0
  }

  /// - Returns: why it ended; `nil` where it was cancelled.
  private func printStates() async -> ExitStatus? {
    var last: Data?
    for await state in reactor.states(for: resource, policy: policy, polling: interval ?? .never) {
      // It cannot be requested, now or later.
      if let error = state.error, case .invalidResource = error { return ExitStatus(error) }
      let line = StateLine.bytes(state)
      guard line != last else { continue }
      last = line
      do { try await StandardStream.output.writeUnlessCancelled(line) } catch { return .unwritableOutput }
    }
    return nil
  }
}
