import Foundation

/// The curves as small pictures beside each other, on logarithmic axes: SVG that is readable on
/// light and on dark pages.
struct GrowthPicture {
  let curves: [Curve]
  let machine: Machine

  private static let columns = 3
  private static let panel = (width: 300.0, height: 230.0)
  /// The curve's area in a panel.
  private static let plot = (left: 58.0, right: 274.0, top: 44.0, bottom: 186.0)

  var svg: String {
    let rows = (curves.count + Self.columns - 1) / Self.columns
    let (width, height) = (Self.panel.width * Double(Self.columns), Self.panel.height * Double(rows) + 24)
    var elements = curves.enumerated().map { index, curve in
      let (column, row) = (index % Self.columns, index / Self.columns)
      let (x, y) = (Double(column) * Self.panel.width, Double(row) * Self.panel.height)
      return "<g transform=\"translate(\(whole(x)) \(whole(y)))\">\(panel(curve))</g>"
    }
    elements.append(SVG.text(8, height - 8, machine.line))
    return SVG.document(
      width: width, height: height, label: "How costs grow",
      style: """
        .grid { stroke: #8c959f; stroke-opacity: 0.3; }
        .curve { fill: none; stroke: #0969da; stroke-width: 2; }
        .point { fill: #0969da; }
        """, darkStyle: ".curve { stroke: #4493f8; } .point { fill: #4493f8; }", elements)
  }

  private func panel(_ curve: Curve) -> String {
    let (sizes, costs) = (curve.points.map(\.size), curve.points.map(\.nanoseconds))
    let x = Axis(covering: sizes, from: Self.plot.left, to: Self.plot.right)
    let y = Axis(covering: costs, from: Self.plot.bottom, to: Self.plot.top)
    var parts = [SVG.text(8, 16, curve.name, "title")]
    parts.append(SVG.text(8, 31, curve.summary))
    for power in x.powers {
      let place = x.place(power)
      parts.append(line(place, Self.plot.top, place, Self.plot.bottom))
      parts.append(SVG.text(place, Self.plot.bottom + 14, Table.whole(Int(power)), anchor: "middle"))
    }
    for power in y.powers {
      let place = y.place(power)
      parts.append(line(Self.plot.left, place, Self.plot.right, place))
      parts.append(SVG.text(Self.plot.left - 5, place + 4, Table.rough(power), anchor: "end"))
    }
    parts.append(SVG.text((Self.plot.left + Self.plot.right) / 2, Self.plot.bottom + 30, curve.unit, anchor: "middle"))
    let places = curve.points.map { (x: x.place($0.size), y: y.place($0.nanoseconds)) }
    let corners = places.map { "\(Table.fixed($0.x, 1)),\(Table.fixed($0.y, 1))" }.joined(separator: " ")
    parts.append("<polyline class=\"curve\" points=\"\(corners)\"/>")
    for (place, point) in zip(places, curve.points) {
      let cost = Table.quantity(point.nanoseconds, .nanoseconds)
      parts.append(
        """
        <circle class="point" cx="\(Table.fixed(place.x, 1))" cy="\(Table.fixed(place.y, 1))" r="3">\
        <title>\(Table.whole(Int(point.size))) \(curve.unit): \(cost)</title></circle>
        """)
    }
    return parts.joined()
  }

  private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
    let numbers = [x1, y1, x2, y2].map { Table.fixed($0, 1) }
    return "<line class=\"grid\" x1=\"\(numbers[0])\" y1=\"\(numbers[1])\" x2=\"\(numbers[2])\" y2=\"\(numbers[3])\"/>"
  }

  private func whole(_ value: Double) -> String { Table.fixed(value, 0) }
}

/// A logarithmic axis from one power of ten to another.
private struct Axis {
  let powers: [Double]
  private let low: Double
  private let high: Double
  private let from: Double
  private let to: Double

  init(covering values: [Double], from: Double, to: Double) {
    let first = log10(max(values.min() ?? 1, .leastNormalMagnitude)).rounded(.down)
    let last = max(first + 1, log10(max(values.max() ?? 1, .leastNormalMagnitude)).rounded(.up))
    powers = stride(from: first, through: last, by: 1).map { pow(10, $0) }
    (low, high, self.from, self.to) = (first, last, from, to)
  }

  func place(_ value: Double) -> Double { from + (log10(value) - low) / (high - low) * (to - from) }
}
