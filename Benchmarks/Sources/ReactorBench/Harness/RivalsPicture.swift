/// Two bars for each figure, the library's and the rival's, in the proportion of their costs: SVG
/// that is readable on light and on dark pages.
struct RivalsPicture {
  let figures: [Figure]
  let machine: Machine

  private static let width = 900.0
  private static let row = 62.0
  /// The bars' area, with room for a figure beside the longest.
  private static let plot = (left: 8.0, right: 640.0)

  /// - Parameter figures: all of a run; the figures of ``Rivals`` are drawn.
  init(_ figures: [Figure], on machine: Machine) {
    self.figures = figures.filter { $0.benchmark == Rivals.name }
    self.machine = machine
  }

  var svg: String {
    let height = Self.row * Double(figures.count) + 24
    var elements = figures.enumerated().flatMap { row($1, at: Self.row * Double($0)) }
    elements.append(SVG.text(Self.plot.left, height - 8, machine.line))
    return SVG.document(
      width: Self.width, height: height, label: "Costs beside other libraries",
      style: ".own { fill: #0969da; }\n.rival { fill: #8c959f; }",
      darkStyle: ".own { fill: #4493f8; } .rival { fill: #656c76; }", elements)
  }

  private func row(_ figure: Figure, at top: Double) -> [String] {
    let most = max(figure.value, figure.baseline, .leastNormalMagnitude)
    let bars = [(figure.value, "own", "Reactor"), (figure.baseline, "rival", figure.baselineName)]
    return [SVG.text(Self.plot.left, top + 16, figure.name, "title")]
      + bars.enumerated().flatMap { index, bar in
        let (y, length) = (top + 22 + 17 * Double(index), (Self.plot.right - Self.plot.left) * bar.0 / most)
        return [
          """
          <rect class="\(bar.1)" x="\(whole(Self.plot.left))" y="\(whole(y))" width="\(Table.fixed(max(1, length), 1))" \
          height="13"/>
          """,
          SVG.text(Self.plot.left + length + 6, y + 11, "\(Table.quantity(bar.0, figure.unit)), \(bar.2)"),
        ]
      }
  }

  private func whole(_ value: Double) -> String { Table.fixed(value, 0) }
}
