/// A table as text, in columns as wide as their widest cell. The last column is not padded, so that
/// a long cell there shifts no other.
enum TextTable {
  static func text(head: [String], _ rows: [[String]]) -> String {
    let rows = [head] + rows.map { $0.map(TraceLine.oneLine) }
    let widths = head.indices.dropLast().map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      return (cells + [row.last ?? ""]).joined(separator: "  ")
    }.joined(separator: "\n")
  }
}
