import Testing

@testable import reactor

@Suite struct `A table` {
  @Test func `has columns as wide as their widest cell, and does not pad the last`() {
    #expect(TextTable.text(head: ["A", "B"], [["long", "1"], ["x", "2"]]) == "A     B\nlong  1\nx     2")
  }

  @Test func `without rows is its head`() {
    #expect(TextTable.text(head: ["A", "B"], []) == "A  B")
  }

  @Test func `is not broken by what a cell holds`() {
    #expect(TextTable.text(head: ["A", "B"], [["a\nb", "\u{1B}[2J"]]).split(separator: "\n").count == 2)
  }
}
