import Foundation

/// The report of the demo's steps in plain words, with timings.
struct DemoReport: Sendable {
  /// The error for a step that did not behave as claimed.
  struct NotAsClaimed: Error, CustomStringConvertible {
    let description: String
  }

  let write: @Sendable (String) -> Void

  /// Writes one line to standard output, unbuffered. Errors are ignored, since there is nowhere to
  /// report them.
  static func printLine(_ text: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((text + "\n").utf8))
  }

  /// Prints the claim, runs the step, and prints the result and the duration.
  func step(_ claim: String, _ body: () async throws -> [String]) async throws {
    write("\n\(claim)")
    let start = ContinuousClock.now
    let lines = try await body()
    let duration = ContinuousClock.now - start
    for line in lines { write("   \(line)") }
    write("   ok, \(Self.text(duration))")
  }

  static func require(_ condition: Bool, _ otherwise: @autoclosure () -> String) throws(NotAsClaimed) {
    if !condition { throw NotAsClaimed(description: otherwise()) }
  }

  static func requireEqual<Value: Equatable>(_ value: Value, _ claimed: Value, _ what: String) throws(NotAsClaimed) {
    try require(value == claimed, "\(what): expected \(claimed), found \(value)")
  }

  /// Returns the duration in milliseconds; in microseconds if it is less than one millisecond.
  static func text(_ duration: Duration) -> String {
    let milliseconds = Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) / 1e15
    return milliseconds < 1
      ? "\(Int((milliseconds * 1e3).rounded())) µs" : "\(Double((milliseconds * 10).rounded()) / 10) ms"
  }
}
