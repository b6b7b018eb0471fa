import Foundation
import ReactorCore

/// `reactor fetch --watch`: prints a line for each new state of a resource, until the task is
/// cancelled.
struct Watch: Sendable {
  let reactor: Reactor<Data>
  let resource: Resource
  let policy: FetchPolicy
  /// The time after an answer at which the server is asked again; `nil` for never.
  let interval: Duration?

  /// Prints the states.
  ///
  /// - Returns: The exit code.
  func run() async -> Int32 {
    // A write without a reader fails, instead of ending the process.
    signal(SIGPIPE, SIG_IGN)
    let status = await withTaskGroup(of: ExitStatus?.self) { group in
      group.addTask { await printStates() }
      group.addTask { await StandardStream.output.untilNobodyReads() ? .unwritableOutput : nil }
      // The first task to end ends the watch. Without a reader, there may be no further state whose
      // line could fail.
      let status = await group.next()
      group.cancelAll()
      return status ?? nil
    }
    status?.report()
    return status?.code ?? 0
  }

  /// Prints a line for each new state.
  ///
  /// - Returns: The reason for the end, or `nil` if the task was cancelled.
  private func printStates() async -> ExitStatus? {
    var last: Data?
    for await state in reactor.states(for: resource, policy: policy, polling: interval ?? .never) {
      // The resource can never be requested.
      if let error = state.error, case .invalidResource = error { return ExitStatus(error) }
      let line = StateLine.bytes(state)
      guard line != last else { continue }
      last = line
      do { try await StandardStream.output.writeUnlessCancelled(line) } catch { return .unwritableOutput }
    }
    return nil
  }
}
