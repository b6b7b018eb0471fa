import Foundation
import Synchronization
import Testing

@testable import ReactorCore

/// The cost of bad elements, counted and not timed: a body must not make its parser work or store
/// more than a good body of the same length.
@Suite struct `The cost of bad elements` {
  /// Counts how often it is decoded or mapped, by the test that runs.
  private struct Counted: Codable, Mappable, Hashable {
    @TaskLocal static var attempts: Attempts?
    var id: Int

    init(id: Int) { self.id = id }

    init(from decoder: any Decoder) throws {
      Self.attempts?.add()
      id = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .id)
    }

    static func mapToModel(_ json: JSONValue) throws -> Counted {
      Self.attempts?.add()
      return Counted(id: try json.integer("id"))
    }
  }

  private final class Attempts: Sendable {
    private let count = Atomic<Int>(0)
    var value: Int { count.load(ordering: .relaxed) }
    func add() { count.add(1, ordering: .relaxed) }
  }

  /// `[{"id":1},0,0,…]`
  private static func body(bad: Int) -> Data {
    Data((#"[{"id":1}"# + String(repeating: ",0", count: bad) + "]").utf8)
  }

  static let parsers = ["decoded", "mapped", "bytes"]

  /// The parsed elements' count, and how often one was tried.
  private func parse(_ name: String, _ data: Data, _ mode: ReactorConfiguration.ParsingMode) throws -> (
    Parsed<Int>, attempts: Int
  ) {
    let attempts = Attempts()
    let parsed = try Counted.$attempts.withValue(attempts) {
      switch name {
      case "decoded": try Parser<[Counted]>.json(mode: mode).parse(data).map(\.count)
      case "mapped": try Parser<[Counted]>.mappable(mode: mode).parse(data).map(\.count)
      default: try Parser.jsonBytes(requiring: ["id"], mode: mode).parse(data).map(\.count)
      }
    }
    return (parsed, attempts.value)
  }

  @Test(arguments: parsers, [1, 15, 16, 17, 1_000, 4_000])
  func `of the pruned elements, the first are kept and the others are counted`(_ name: String, _ bad: Int) throws {
    let (parsed, attempts) = try parse(name, Self.body(bad: bad), .prune)
    #expect(parsed.prunedCount == bad)
    #expect(parsed.pruned.map(\.index) == Array(1...min(bad, ParserError.PrunedElement.limit)))
    #expect(parsed.pruned.allSatisfy { $0.error.codingPath.hasPrefix("[\($0.index)]") && $0.error.position != nil })
    #expect(attempts == (name == "bytes" ? 0 : bad + 1))
  }

  @Test(arguments: parsers, [1, 10, 1_000, 4_000])
  func `strict parsing tries nothing behind the first`(_ name: String, _ bad: Int) throws {
    let attempts = Attempts()
    Counted.$attempts.withValue(attempts) {
      let error = #expect(throws: ParserError.self) { try self.strict(name, Self.body(bad: bad)) }
      #expect(error?.codingPath == "[1]")
    }
    #expect(attempts.value <= 2)
  }

  private func strict(_ name: String, _ data: Data) throws {
    switch name {
    case "decoded": _ = try Parser<[Counted]>.json(mode: .strict).parse(data)
    case "mapped": _ = try Parser<[Counted]>.mappable(mode: .strict).parse(data)
    default: _ = try Parser.jsonBytes(requiring: ["id"], mode: .strict).parse(data)
    }
  }
}
