import Foundation
import HTTPCaching
import HTTPTypes
import Testing

@testable import ReactorCore

@Suite("The marks of changes") struct ChangeMarksTests {
  private static let began = Date(timeIntervalSinceReferenceDate: 0)

  private static func head(requested seconds: Double) -> Record.Head {
    let date = began + seconds
    return Record.Head(identity: "", status: .ok, fields: [:], requestedAt: date, receivedAt: date)
  }

  @Test func `a forgotten mark of an earlier process makes everything stale that was requested before it`() {
    let (marks, generations) = (ChangeMarks(), Generations())
    // One of everything, and sixty of paths that came later, one a second.
    let paths = Dictionary(
      uniqueKeysWithValues: (1...60).map { ("https://api.example.com/\($0)", Self.began + Double($0)) })
    marks.add(MarkDates(urls: [:], paths: paths, groups: [:], all: Self.began), generations)
    for path in 61...65 {
      marks.add(KeySet(paths: ["https://api.example.com/\(path)"]), at: Self.began + Double(path), generations)
    }
    let key = RecordKey(method: .get, url: "https://api.example.com/30/a")
    #expect(marks.date(of: key, Self.head(requested: 20), at: Self.began + 100) != nil)
    // The newest mark has not been forgotten, and says nothing of other paths.
    #expect(marks.date(of: key, Self.head(requested: 62), at: Self.began + 100) == nil)
  }
}
