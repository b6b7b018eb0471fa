import Foundation

/// The whole flow against an embedded server. Each step is checked.
///
/// - `ReactorDemo`: The exit code is 1 if a step is not as claimed.
/// - `ReactorDemo --stay`: Afterwards, the server runs on and a page shows the model layer, until
///   Ctrl-C.
@main enum Demo {
  static func main() async {
    // If the reader of the output is gone, the demo continues, and removes its directory at the
    // end.
    signal(SIGPIPE, SIG_IGN)
    let arguments = CommandLine.arguments.dropFirst()
    switch arguments.first {
    case nil: exit(await status { try await DemoRun.walk() })
    case "--stay": exit(await status(isEndedBySignal: true) { try await DemoRun.walk(stays: true) })
    case SecondProcess.command where arguments.count == 3:
      exit(await status { try await SecondProcess.main(Array(arguments)) })
    default: exit(failure("usage: ReactorDemo [--stay]", 64))
    }
  }

  /// Runs `body` in a task that Ctrl-C (SIGINT) and SIGTERM cancel.
  ///
  /// - Parameters:
  ///   - isEndedBySignal: Pass `true` if a signal is the regular end.
  ///   - body: The work.
  /// - Returns: The exit code: 128 plus the number of the signal after an interruption.
  private static func status(
    isEndedBySignal: Bool = false, _ body: @escaping @Sendable () async throws -> Void
  ) async -> Int32 {
    let signals = Signals()
    let result = await signals.cancelling(Task { try await body() })
    switch (result, signals.received) {
    case (.success, nil): return 0
    case (.failure(let error), nil): return failure("the demo failed: \(error)", 1)
    case (_, .some) where isEndedBySignal: return 0
    case (_, .some(let number)): return failure("interrupted", 128 + number)
    }
  }

  private static func failure(_ text: String, _ code: Int32) -> Int32 {
    try? FileHandle.standardError.write(contentsOf: Data("demo: \(text)\n".utf8))
    return code
  }
}
