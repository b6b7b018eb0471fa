/// One line of the table: what a job costs, beside its baseline, in one run.
struct Figure: Codable, Sendable {
  enum Unit: String, Codable, Sendable {
    case nanoseconds = "ns"
    case bytes
  }

  /// Half of the rounds are between these.
  struct Spread: Codable, Sendable {
    var low: Double
    var high: Double
  }

  /// The benchmark's name, and what was measured.
  var benchmark: String
  var name: String
  /// The limit: who does the same work by hand.
  var baselineName: String
  var unit: Unit
  var clock: Stopwatch
  /// Medians, for one operation.
  var value: Double
  var baseline: Double
  /// The median of the rounds' ratios, and of their differences.
  var ratio: Double
  var spread: Spread
  var difference: Double
  /// For one operation, counted in a run of their own; `nil` where they cannot be counted.
  var allocations: Double?
  var baselineAllocations: Double?
  var rounds: Int
  var target: Target?

  /// What it is in every run.
  var id: String { "\(benchmark)/\(name)/\(baselineName)" }

  var isMet: Bool? {
    switch target {
    case .ratio(let most): ratio <= most
    case .nanosecondsMore(let most): difference <= most
    case nil: nil
    }
  }
}

/// What a figure is to reach.
enum Target: Codable, Sendable {
  /// At most so many times the baseline.
  case ratio(Double)
  /// At most so much more than the baseline.
  case nanosecondsMore(Double)
}
