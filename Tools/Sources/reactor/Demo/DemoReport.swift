import Foundation

/// Tells the demo's steps in plain words, with timings.
struct DemoReport: Sendable {
  /// A step did something else than was claimed.
  struct NotAsClaimed: Error, CustomStringConvertible {
    let description: String
  }

  let write: @Sendable (String) -> Void

  /// Tells `claim`, does it, and tells what was seen.
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
    try require(value == claimed, "\(what): \(claimed) was claimed, \(value) was seen")
  }

  /// In milliseconds, or microseconds where that is less than one.
  static func text(_ duration: Duration) -> String {
    let milliseconds = Double(duration.components.seconds) * 1e3 + Double(duration.components.attoseconds) / 1e15
    return milliseconds < 1
      ? "\(Int((milliseconds * 1e3).rounded())) µs" : "\(Double((milliseconds * 10).rounded()) / 10) ms"
  }
}
