/// One line of the table: the cost of a job, compared with its baseline, in one run.
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

  /// The benchmark's name, and the measured operation.
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
  /// For one operation, counted in a separate run; `nil` where they cannot be counted.
  var allocations: Double?
  var baselineAllocations: Double?
  var rounds: Int
  var target: Target?

  /// The name that is the same in every run.
  var id: String { "\(benchmark)/\(name)/\(baselineName)" }

  var isMet: Bool? {
    target.map { ($0.kind == .ratio ? ratio : difference) <= $0.most }
  }
}

/// The value that a figure must reach.
struct Target: Codable, Sendable {
  enum Kind: String, Codable, Sendable {
    case ratio
    case nanosecondsMore
  }

  var kind: Kind
  var most: Double

  /// At most so many times the baseline.
  static func ratio(_ most: Double) -> Target { Target(kind: .ratio, most: most) }
  /// At most so much more than the baseline.
  static func nanosecondsMore(_ most: Double) -> Target { Target(kind: .nanosecondsMore, most: most) }
}
