/// Two runs, figure by figure.
///
/// Times of two runs say little on a machine that others use too; ratios were measured in one
/// process each, and are compared. A change counts where the two runs' spreads do not meet, and it
/// is more than a tenth: a spread is of one run, and the next may find the processor's cache in
/// other hands.
struct Comparison {
  let old: Run
  let new: Run

  var lines: [String] {
    var lines = [
      "before: \(old.machine.line)", "after: \(new.machine.line)", "",
      "| job | ratio before | ratio after | change | allocations | beyond the spread |",
      "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for figure in new.figures {
      let before = old.figures.first { $0.id == figure.id }
      lines.append(before.map { line($0, figure) } ?? "| \(figure.name) | – | \(Table.ratio(figure.ratio)) | new | | |")
    }
    for figure in old.figures where !new.figures.contains(where: { $0.id == figure.id }) {
      lines.append("| \(figure.name) | \(Table.ratio(figure.ratio)) | – | gone | | |")
    }
    return lines
  }

  private func line(_ before: Figure, _ after: Figure) -> String {
    let change = (after.ratio / before.ratio - 1) * 100
    let verdict =
      if abs(change) < 10 {
        "no"
      } else if after.spread.low > before.spread.high {
        "**slower**"
      } else if after.spread.high < before.spread.low {
        "faster"
      } else {
        "no"
      }
    let cells = [
      after.name, Table.ratio(before.ratio), Table.ratio(after.ratio),
      "\(change < 0 ? "" : "+")\(Table.fixed(change, 1)) %", allocations(before, after), verdict,
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  private func allocations(_ before: Figure, _ after: Figure) -> String {
    guard let old = before.allocations, let new = after.allocations else { return "–" }
    return abs(new - old) < 0.05 ? "same" : "\(Table.fixed(old, 1)) to \(Table.fixed(new, 1))"
  }
}
