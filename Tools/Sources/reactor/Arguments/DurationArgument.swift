import ArgumentParser
import ReactorCore

/// A duration of the command line: `500ms`, `1s`, `5m`, `2h`.
enum DurationArgument {
  private static let units: [(suffix: String, milliseconds: Int64)] = [
    ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
  ]

  /// Parses a whole number with one unit. A number of milliseconds beyond `Int64` becomes
  /// `Duration.never`.
  static func parse(_ text: String) throws -> Duration {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let suffix = text.dropFirst(digits.count)
    guard !digits.isEmpty else {
      throw ValidationError("a duration begins with a whole number, as in 500ms, 1s, 5m, 2h")
    }
    guard let unit = units.first(where: { $0.suffix == suffix }) else {
      let problem = suffix.isEmpty ? "the unit is missing" : "'\(suffix)' is not a unit"
      throw ValidationError("\(problem); the units are ms, s, m and h, as in 500ms, 1s, 5m, 2h")
    }
    // Only digits are left, so an invalid number is too large.
    guard let number = Int64(digits) else { return .never }
    let (milliseconds, overflow) = number.multipliedReportingOverflow(by: unit.milliseconds)
    return overflow ? .never : .milliseconds(milliseconds)
  }

  /// Parses a duration like ``parse(_:)``, which must be more than zero.
  static func parsePositive(_ text: String) throws -> Duration {
    let duration = try parse(text)
    guard duration > .zero else { throw ValidationError("the duration must be more than zero") }
    return duration
  }
}
