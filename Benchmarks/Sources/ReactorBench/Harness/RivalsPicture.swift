import Foundation

/// Two bars for each figure, the library's and the rival's, in the proportion of their costs: SVG
/// that is readable on light and on dark pages.
struct RivalsPicture {
  let figures: [Figure]
  let machine: Machine

  private static let width = 900.0
  private static let row = 62.0
  /// The bars' area, with room for a figure beside the longest.
  private static let plot = (left: 8.0, right: 640.0)

  /// - Parameter figures: all of a run; those of ``Rivals`` are drawn.
  init(_ figures: [Figure], on machine: Machine) {
    self.figures = figures.filter { $0.benchmark == Rivals.name }
    self.machine = machine
  }

  var svg: String {
    let height = Self.row * Double(figures.count) + 24
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(whole(Self.width))" height="\(whole(height))" \
      viewBox="0 0 \(whole(Self.width)) \(whole(height))" role="img" aria-label="Costs beside other libraries">
      """,
      """
      <style>
      text { font: 11px system-ui, sans-serif; fill: #57606a; }
      .title { font-size: 12px; font-weight: 600; fill: #24292f; }
      .own { fill: #0969da; }
      .rival { fill: #8c959f; }
      @media (prefers-color-scheme: dark) {
        text { fill: #9198a1; } .title { fill: #f0f6fc; } .own { fill: #4493f8; } .rival { fill: #656c76; }
      }
      </style>
      """,
    ]
    for (index, figure) in figures.enumerated() { lines += row(figure, at: Self.row * Double(index)) }
    lines.append(text(Self.plot.left, height - 8, machine.line))
    lines.append("</svg>")
    return lines.joined(separator: "\n") + "\n"
  }

  private func row(_ figure: Figure, at top: Double) -> [String] {
    let most = max(figure.value, figure.baseline, .leastNormalMagnitude)
    let bars = [(figure.value, "own", "Reactor"), (figure.baseline, "rival", figure.baselineName)]
    return [text(Self.plot.left, top + 16, figure.name, "title")]
      + bars.enumerated().flatMap { index, bar in
        let (y, length) = (top + 22 + 17 * Double(index), (Self.plot.right - Self.plot.left) * bar.0 / most)
        return [
          """
          <rect class="\(bar.1)" x="\(whole(Self.plot.left))" y="\(whole(y))" width="\(Table.fixed(max(1, length), 1))" \
          height="13"/>
          """,
          text(Self.plot.left + length + 6, y + 11, "\(Table.quantity(bar.0, figure.unit)), \(bar.2)"),
        ]
      }
  }

  private func text(_ x: Double, _ y: Double, _ text: String, _ kind: String = "") -> String {
    SVG.text(x, y, text, kind)
  }

  private func whole(_ value: Double) -> String { Table.fixed(value, 0) }
}

/// The elements that the pictures share.
enum SVG {
  static func text(_ x: Double, _ y: Double, _ text: String, _ kind: String = "", anchor: String = "start") -> String {
    let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return """
      <text x="\(Table.fixed(x, 1))" y="\(Table.fixed(y, 1))" text-anchor="\(anchor)" class="\(kind)">\(escaped)</text>
      """
  }
}
