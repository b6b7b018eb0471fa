import Foundation

/// The environment's settings for randomized tests.
public enum Chance {
  /// `REACTOR_SEED`, or another each time. It is printed, so that a failure can be had again.
  public static func seed(_ test: String) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["REACTOR_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    print("\(test): REACTOR_SEED=\(seed)")
    return seed
  }

  /// The number in an environment variable, one at least.
  public static func count(_ variable: String, default count: Int) -> Int {
    max(1, ProcessInfo.processInfo.environment[variable].flatMap { Int($0) } ?? count)
  }
}
