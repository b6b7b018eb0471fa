import Foundation

/// The environment's settings for randomized tests.
public enum Chance {
  /// `REACTOR_SEED`, or another each time. It is printed, so that a failure can be had again.
  public static func seed(_ test: String) -> UInt64 {
    let seed = ProcessInfo.processInfo.environment["REACTOR_SEED"].flatMap { UInt64($0) } ?? .random(in: 0 ... .max)
    print("\(test): REACTOR_SEED=\(seed)")
    return seed
  }

  /// The number of repetitions of a randomized test: from an environment variable, at least one.
  /// Without it, `thorough` if `REACTOR_THOROUGH` is set, as by `make test-all`.
  public static func count(_ variable: String, default count: Int, thorough: Int? = nil) -> Int {
    let environment = ProcessInfo.processInfo.environment
    if let number = environment[variable].flatMap({ Int($0) }) { return max(1, number) }
    return environment["REACTOR_THOROUGH"] == nil ? count : thorough ?? count
  }
}
