package import Foundation
import Synchronization

/// A child process that is run to its end.
package enum ChildProcess {
  package struct Result: Sendable {
    package var status: Int32
    package var output: Data
    package var error: String
  }

  /// A fault of its own has ended a process, as a trap does.
  package struct Crash: Error, CustomStringConvertible {
    package var signal: Int32
    package var error: String

    package var description: String {
      "the process was ended by signal \(signal), and has written to standard error: \(error)"
    }
  }

  private static let faults = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

  /// Runs `executable`, and returns when the process has ended.
  ///
  /// The output goes to files in `directory`, since a full pipe would block the process. With
  /// `pipe`, standard output goes there instead, for a reader that runs at the same time.
  ///
  /// Cancelling the task sends `cancelSignal`. SIGKILL ends the process at the `deadline`. A child
  /// inherits the blocked signals of the thread that starts it, so only SIGKILL ends any program.
  ///
  /// - Throws: ``Crash`` if a fault of its own ended the process, with the stack where the runtime
  ///   of Swift can print it.
  package static func run(
    _ executable: URL, _ arguments: [String], directory: URL, pipe: Pipe? = nil, deadline: Duration = .seconds(30),
    cancelSignal: Int32 = SIGKILL
  ) async throws -> Result {
    let output = directory.appending(path: "child-output")
    let error = directory.appending(path: "child-error")
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(
      ["SWIFT_BACKTRACE": "enable=yes,interactive=no,color=no"]) { own, _ in own }
    process.standardInput = FileHandle.nullDevice
    let handles = [try fileHandle(output), try fileHandle(error)]
    // Foundation on Linux keeps them open otherwise.
    defer { for handle in handles { try? handle.close() } }
    process.standardOutput = if let pipe { pipe } else { handles[0] }
    process.standardError = handles[1]
    let identifier = ProcessIdentifier()
    let watchdog = Task {
      try await Task.sleep(for: deadline)
      identifier.send(SIGKILL)
    }
    defer { watchdog.cancel() }
    let (status, reason) = try await withTaskCancellationHandler {
      try await end(of: process, identifier)
    } onCancel: {
      identifier.send(cancelSignal)
    }
    let said = String(decoding: try Data(contentsOf: error), as: UTF8.self)
    if reason == .uncaughtSignal, faults.contains(status) { throw Crash(signal: status, error: said) }
    return Result(status: status, output: pipe == nil ? try Data(contentsOf: output) : Data(), error: said)
  }

  private static func end(
    of process: Process, _ identifier: ProcessIdentifier
  ) async throws -> (Int32, Process.TerminationReason) {
    try await withCheckedThrowingContinuation { continuation in
      process.terminationHandler = { process in
        identifier.clear()
        continuation.resume(returning: (process.terminationStatus, process.terminationReason))
      }
      do {
        try process.run()
        identifier.set(process.processIdentifier)
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  private static func fileHandle(_ file: URL) throws -> FileHandle {
    try Data().write(to: file)
    return try FileHandle(forWritingTo: file)
  }
}

/// The identifier of a process, for signals. A signal after the end is dropped, since the system
/// may have reused the number.
private final class ProcessIdentifier: Sendable {
  private enum State {
    case starting(pending: Int32?)
    case running(Int32)
    case ended
  }

  private let state = Mutex(State.starting(pending: nil))

  func send(_ signal: Int32) {
    state.withLock { state in
      switch state {
      case .starting: state = .starting(pending: signal)
      case .running(let identifier): kill(identifier, signal)
      case .ended: break
      }
    }
  }

  func set(_ identifier: Int32) {
    state.withLock { state in
      guard case .starting(let pending) = state else { return }
      state = .running(identifier)
      if let pending { kill(identifier, pending) }
    }
  }

  func clear() { state.withLock { $0 = .ended } }
}
