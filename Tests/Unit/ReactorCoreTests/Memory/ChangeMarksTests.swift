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

  private static let url = "https://api.example.com/1"
  private static let key = RecordKey(method: .get, url: url)

  /// Tells that the version with `tag` is current, where the layer holds another one.
  private static func tell(
    _ tag: String?, held: [String] = [], as number: Generation? = nil, _ marks: ChangeMarks, _ generations: Generations
  ) {
    let change = ToldChange(KeySet(urls: [url]), tags: tag.map { [url: $0] } ?? [:])
    _ = marks.add(change, held: [url: held], as: number.map { ($0, Self.began) }, at: Self.began, generations)
  }

  /// Returns `true` if a response with `tag`, requested under `number`, lacks a change.
  private static func lacks(_ tag: String, _ number: Generation, _ marks: ChangeMarks) -> Bool {
    marks.date(of: key, tag, [], after: number) != nil
  }

  @Test func `a response with the tag of the latest change has it, and an earlier change stays`() {
    let (marks, generations) = (ChangeMarks(), Generations())
    Self.tell("\"2\"", held: ["\"1\""], marks, generations)
    #expect(!Self.lacks("\"2\"", 0, marks))
    #expect(Self.lacks("\"3\"", 0, marks))
    Self.tell("\"9\"", marks, generations)
    // Requested before the first change, which may have been published out of order.
    #expect(Self.lacks("\"9\"", 0, marks))
    #expect(!Self.lacks("\"9\"", 1, marks))
  }

  @Test(arguments: [
    KeySet(groups: ["posts"]), KeySet(paths: ["https://api.example.com/"]), .everything,
  ])
  func `a later change without a tag may bring an earlier version back`(_ later: KeySet) {
    let (marks, generations) = (ChangeMarks(), Generations())
    Self.tell("\"2\"", held: ["\"1\""], marks, generations)
    let number = marks.add(later, at: Self.began, generations)
    #expect(marks.date(of: Self.key, "\"1\"", ["posts"], after: number) == nil)
    #expect(marks.date(of: Self.key, "\"1\"", ["posts"], after: number - 1) != nil)
    // What is told after that counts again.
    Self.tell("\"3\"", held: ["\"1\""], marks, generations)
    #expect(marks.date(of: Self.key, "\"1\"", ["posts"], after: number + 1) != nil)
  }

  @Test func `a version from before a change lacks it whenever it was requested, until it is told again`() {
    let (marks, generations) = (ChangeMarks(), Generations())
    Self.tell("\"2\"", held: ["\"1\""], marks, generations)
    #expect(Self.lacks("\"1\"", 7, marks))
    #expect(marks.isLagging("\"1\"", of: Self.url, requestedAs: 7))
    #expect(!Self.lacks("\"5\"", 7, marks))
    Self.tell("\"1\"", marks, generations)
    #expect(!Self.lacks("\"1\"", 7, marks))
    #expect(Self.lacks("\"2\"", 7, marks))
    // After a change without a tag, any version may be current.
    Self.tell(nil, marks, generations)
    #expect(!Self.lacks("\"2\"", 7, marks))
  }

  @Test func `an echo that a later change has overtaken changes nothing, but its version is no earlier one`() {
    let (marks, generations) = (ChangeMarks(), Generations())
    _ = generations.next()
    Self.tell("\"3\"", held: ["\"2\""], marks, generations)
    #expect(Self.lacks("\"2\"", 9, marks))
    Self.tell("\"2\"", as: 1, marks, generations)
    #expect(!Self.lacks("\"2\"", 9, marks))
    #expect(Self.lacks("\"2\"", 1, marks))
  }
}
