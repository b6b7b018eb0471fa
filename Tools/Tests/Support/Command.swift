package import Foundation

/// The built `reactor`, run as a separate process.
package enum Command {
  package struct Result: Sendable {
    package var status: Int32
    package var output: String
    package var error: String
    /// Standard error by lines.
    package var trace: [Substring] { error.split(separator: "\n") }
  }

  package static func run(_ arguments: String..., cancelSignal: Int32 = SIGKILL) async throws -> Result {
    try await run(arguments, cancelSignal: cancelSignal)
  }

  package static func run(_ arguments: [String], cancelSignal: Int32 = SIGKILL) async throws -> Result {
    try await TemporaryDirectory.use { directory in
      let result = try await ChildProcess.run(
        executable, arguments, directory: directory, deadline: .seconds(60), cancelSignal: cancelSignal)
      return Result(
        status: result.status, output: String(decoding: result.output, as: UTF8.self), error: result.error)
    }
  }

  /// Beside the test bundle (macOS) or the test program (Linux).
  package static let executable: URL = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL
    let neighbour = bundle ?? Bundle.main.executableURL ?? URL(filePath: CommandLine.arguments[0])
    return neighbour.deletingLastPathComponent().appending(path: "reactor")
  }()
}
