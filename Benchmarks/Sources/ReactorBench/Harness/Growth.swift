import CMeasuring
import Foundation

/// The growth of a cost with the size of something.
struct Curve: Codable, Sendable {
  struct Point: Codable, Sendable {
    var size: Double
    /// For one operation.
    var nanoseconds: Double
  }

  var benchmark: String
  var name: String
  /// The unit of the size.
  var unit: String
  var points: [Point]
  /// The highest exponent that is accepted: 0 for a cost that does not depend on the size, 1 for
  /// one in proportion.
  var expected: Double
  /// Of the line through the points on logarithmic axes: 0 is flat, 1 is in proportion.
  var exponent: Double
  /// The same between the two largest sizes, where constant costs count least.
  var lastExponent: Double

  /// The tolerance is for data that no longer fits a processor's cache. A fault of design costs far
  /// more.
  var isWorse: Bool { max(exponent, lastExponent) > expected + 0.25 }

  var summary: String {
    let exponents = "exponent \(Table.fixed(exponent, 2)), at the end \(Table.fixed(lastExponent, 2))"
    return "\(exponents); \(expected == 0 ? "to be flat" : "to be in proportion")\(isWorse ? ", and is worse" : "")"
  }
}

/// Measures curves. All sizes are measured in turn, round after round, so that a slow while falls
/// on all of them.
final class Growth {
  private let bench: Bench
  private(set) var curves: [Curve] = []
  var benchmark = ""

  init(_ bench: Bench) { self.bench = bench }

  /// - Parameters:
  ///   - expected: what the exponent is to be at most.
  ///   - clock: the elapsed time, where it waits.
  ///   - processors: on how many it runs.
  ///   - operations: how many an iteration at a size stands for.
  ///   - work: makes the work of a size.
  func curve(
    _ name: String, of unit: String, expected: Double = 0, sizes: [Int], clock: Stopwatch = .processor,
    processors: Int = 1,
    operations: (Int) -> Int = { _ in 1 },
    work make: (_ size: Int) async throws -> Work
  ) async throws {
    _ = measuring_use_processors(Int32(processors))
    var places: [(size: Int, work: Work, count: Int, times: [Double])] = []
    for size in sizes {
      let work = try await make(size)
      places.append((size, work, try await bench.calibrated(work), []))
    }
    for _ in 0..<bench.settings.rounds.lowerBound {
      for index in places.indices {
        let place = places[index]
        places[index].times.append(
          try await bench.time(place.work, place.count, clock) / Double(operations(place.size)))
      }
    }
    let points = places.map { Curve.Point(size: Double($0.size), nanoseconds: $0.times.median) }
    let pairs = points.map { (x: $0.size, y: $0.nanoseconds) }
    let curve = Curve(
      benchmark: benchmark, name: name, unit: unit, points: points, expected: expected,
      exponent: fittedExponent(pairs), lastExponent: fittedExponent(pairs.suffix(2)))
    curves.append(curve)
    let costs = points.map { "\(Int($0.size)): \(Table.quantity($0.nanoseconds, .nanoseconds))" }
    print(
      "\(name) by \(unit): \(costs.joined(separator: ", ")); \(curve.summary)"
    )
    fflush(nil)
  }
}
