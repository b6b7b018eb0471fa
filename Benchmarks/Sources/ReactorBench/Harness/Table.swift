import Foundation

/// The figures as lines of Markdown.
enum Table {
  static let head = """
    | job | median | limit | ratio (half of the rounds) | allocations (limit) | target | met |
    | --- | ---: | ---: | ---: | ---: | ---: | :---: |
    """

  static func line(_ figure: Figure) -> String {
    let cells = [
      "\(figure.name), beside \(figure.baselineName)",
      quantity(figure.value, figure.unit),
      quantity(figure.baseline, figure.unit),
      "\(ratio(figure.ratio)) (\(ratio(figure.spread.low)) to \(ratio(figure.spread.high)))",
      "\(count(figure.allocations)) (\(count(figure.baselineAllocations)))",
      target(figure),
      figure.isMet.map { $0 ? "yes" : "**no**" } ?? "–",
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  static func quantity(_ value: Double, _ unit: Figure.Unit) -> String {
    let (scaled, name) =
      switch unit {
      case .nanoseconds:
        switch abs(value) {
        case ..<1e3: (value, "ns")
        case ..<1e6: (value / 1e3, "µs")
        case ..<1e9: (value / 1e6, "ms")
        default: (value / 1e9, "s")
        }
      case .bytes: abs(value) < 1e6 ? (value / 1e3, "kB") : (value / 1e6, "MB")
      }
    return "\(digits(scaled)) \(name)"
  }

  static func ratio(_ value: Double) -> String { "\(value < 10 ? fixed(value, 2) : digits(value)) ×" }

  private static func target(_ figure: Figure) -> String {
    guard let target = figure.target else { return "stated" }
    let most = target.most
    return switch target.kind {
    case .ratio: "≤ \(fixed(most, most == (most * 10).rounded() / 10 ? 1 : 2)) ×"
    case .nanosecondsMore: "≤ \(digits(most)) ns more: \(digits(figure.difference)) ns"
    }
  }

  private static func count(_ value: Double?) -> String {
    value.map { fixed($0, $0 < 100 ? 1 : 0) } ?? "–"
  }

  /// Three digits that count.
  private static func digits(_ value: Double) -> String {
    fixed(value, abs(value) < 10 ? 2 : abs(value) < 100 ? 1 : 0)
  }

  /// A power of ten, in nanoseconds.
  static func rough(_ value: Double) -> String {
    let (scaled, name) =
      switch value {
      case ..<1e3: (value, "ns")
      case ..<1e6: (value / 1e3, "µs")
      case ..<1e9: (value / 1e6, "ms")
      default: (value / 1e9, "s")
      }
    return "\(fixed(scaled, scaled < 1 ? 1 : 0)) \(name)"
  }

  /// With commas between thousands.
  static func whole(_ value: Int) -> String {
    value < 1_000 ? "\(value)" : "\(whole(value / 1_000)),\(String(format: "%03d", value % 1_000))"
  }

  static func fixed(_ value: Double, _ places: Int) -> String { String(format: "%.\(places)f", value) }
}
