extension Markdown {
  /// A table: the cells of each row below its heading, without the blanks around them.
  public struct Table: Sendable {
    public var heading: [String]
    public var rows: [[String]]
  }

  public var tables: [Table] {
    var tables: [Table] = []
    var isOpen = false
    for line in lines {
      guard line.hasPrefix("|") else {
        isOpen = false
        continue
      }
      let cells = line.dropFirst().dropLast().split(separator: "|", omittingEmptySubsequences: false).map {
        String($0.trimmingPrefix { $0 == " " }.reversed().trimmingPrefix { $0 == " " }.reversed())
      }
      if isOpen {
        tables[tables.count - 1].rows.append(cells)
      } else {
        tables.append(Table(heading: cells, rows: []))
      }
      isOpen = true
    }
    // The line of dashes is no row.
    return tables.map { Table(heading: $0.heading, rows: Array($0.rows.dropFirst())) }
  }
}
