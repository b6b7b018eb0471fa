import ArgumentParser
import ReactorCore

/// A duration as it is written on the command line: `500ms`, `1s`, `5m`, `2h`.
enum DurationArgument {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
  ]

  /// Whole numbers of one unit; beyond what an `Int64` of milliseconds holds, it is ``Swift/Duration/never``.
  static func parse(_ text: String) throws -> Duration {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let suffix = text.dropFirst(digits.count)
    guard !digits.isEmpty else {
      throw ValidationError("a duration begins with a whole number, as in 500ms, 1s, 5m, 2h")
    }
    guard let unit = units.first(where: { $0.suffix == suffix }) else {
      let problem = suffix.isEmpty ? "the unit is missing" : "'\(suffix)' is no unit"
      throw ValidationError("\(problem); the units are ms, s, m and h, as in 500ms, 1s, 5m, 2h")
    }
    // Only digits are left, so that a number that is none is one too large.
    guard let number = Int64(digits) else { return .never }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? .never : .milliseconds(milliseconds)
  }

  /// ``parse(_:)``, and more than zero.
  static func parsePositive(_ text: String) throws -> Duration {
    let duration = try parse(text)
    guard duration > .zero else { throw ValidationError("it must be more than zero") }
    return duration
  }
}
