import Foundation
import ReactorCore
import ReactorTesting
import Testing

@testable import ReactorOutbox

@Suite struct `A temporary id` {
  @Test func `a temporary id is a string and a number that nothing else has`() {
    let ids = (0..<1_000).map { _ in TemporaryID() }
    #expect(Set(ids).count == 1_000)
    #expect(Set(ids.map(\.int)).count == 1_000)
    for id in ids {
      #expect(id.isTemporary && id.description == id.string)
      #expect(TemporaryID.isTemporary(Int64(id.int)))
      #expect(id.int < -(1 << 52) + 1 && id.int > -(1 << 53))
      // Exact in a decoder that reads every number as a Double.
      #expect(Int(Double(id.int)) == id.int)
    }
  }

  @Test func `a temporary id has the same number in each process`() {
    let string = "tmp-00000000-0000-0000-0000-000000000000"
    #expect(TemporaryID.number(of: string) == -6_780_609_259_151_473)
  }

  @Test func `a temporary id is saved as its string, and read from what the server has given`() throws {
    let id = TemporaryID()
    #expect(try JSONEncoder().encode([id]) == Data(#"["\#(id.string)"]"#.utf8))
    let read = try JSONDecoder().decode([TemporaryID].self, from: Data(#"["\#(id.string)",7,"8","abc"]"#.utf8))
    #expect(read[0] == id)
    #expect(read[1...].map(\.string) == ["7", "8", "abc"])
    #expect(read[1...].allSatisfy { !$0.isTemporary })
    #expect(read[1].int == 7 && read[2].int == 8)
    // A string that is no number has one all the same.
    #expect(TemporaryID.isTemporary(Int64(read[3].int)))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(TemporaryID.self, from: Data("true".utf8)) }
  }

  @Test(arguments: [
    "", "tmp-", "7", "tmp-abcdefghijklmnopqrstuvwxyz0123456789", "TMP-0E984725-C51C-4BF4-9960-E1C80E27ABA0",
    "tmp-0e984725-c51c-4bf4-9960-e1c80e27aba0", "tmp-0E984725-C51C-4BF4-9960-E1C80E27ABA0 ",
    "xtmp0E984725-C51C-4BF4-9960-E1C80E27ABA0", "tmp-0E984725-C51C-4BF4-9960-E1C80E27ABAü",
  ])
  func `a temporary id is not a text of a user's that looks like one`(_ text: String) {
    #expect(!TemporaryID.isTemporary(text))
    #expect(TemporaryIDs.Occurrences(in: Data(#"["\#(text)"]"#.utf8)).isEmpty)
  }

  @Test func `a temporary id is no number outside of its range`() {
    let (low, high) = (-(1 << 53) as Int64, -(1 << 52) as Int64)
    for (number, isTemporary) in [(low, true), (high, true), (low - 1, false), (high + 1, false), (0, false)] {
      #expect(TemporaryID.isTemporary(number) == isTemporary)
    }
  }
}

@Suite struct `Temporary ids in JSON` {
  private let id = TemporaryID()

  private func strings(_ json: String) -> Set<String> { TemporaryIDs.Occurrences(in: Data(json.utf8)).strings }
  private func numbers(_ json: String) -> Set<Int64> { TemporaryIDs.Occurrences(in: Data(json.utf8)).numbers }

  /// The JSON with this id in place of the temporary one; `nil` if nothing is replaced.
  private func rewritten(_ json: String, as given: String) -> String? {
    TemporaryIDs.rewritten(Data(json.utf8), [id.string: Data(given.utf8)]).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `temporary ids in JSON are found as whole values`() {
    #expect(strings(#""\#(id)""#) == [id.string])
    #expect(strings(#"{"a":[{"b":"\#(id)"}],"c":1}"#) == [id.string])
    #expect(numbers("[\(id.int)]") == [Int64(id.int)])
    #expect(numbers("{\"a\": \(id.int) }") == [Int64(id.int)])
    #expect(numbers("\(id.int)") == [Int64(id.int)])
  }

  @Test func `temporary ids are found as the names of members`() {
    #expect(strings(#"{"\#(id)":1}"#) == [id.string])
    #expect(numbers(#"{"\#(id.int)":1}"#) == [Int64(id.int)])
    #expect(numbers(#"{"\#(id.int)" : 1}"#) == [Int64(id.int)])
    #expect(numbers(#"["\#(id.int)"]"#).isEmpty)
  }

  @Test func `temporary ids are found however they are escaped`() {
    let escaped = id.string.replacing("t", with: #"\u0074"#)
    #expect(strings(#"["\#(escaped)"]"#) == [id.string])
    let all = id.string.unicodeScalars.map { #"\u00"# + String($0.value, radix: 16) }.joined()
    #expect(strings(#"{"a":"\#(all)"}"#) == [id.string])
    #expect(rewritten(#"{"a":"\#(escaped)"}"#, as: "7") == #"{"a":"7"}"#)
  }

  @Test func `temporary ids are not found inside of other texts and numbers`() {
    for text in ["\(id) ", "x\(id)", #"x\"\#(id)"#, #"\"\#(id)\""#, #"\\\#(id)"#, "say \(id.int)", "\(id.int)"] {
      #expect(strings(#"["\#(text)"]"#).isEmpty && numbers(#"["\#(text)"]"#).isEmpty, "\(text)")
    }
    for number in ["\(id.int).5", "\(id.int)0", "\(id.int)e1", "\(-id.int)", "-1"] {
      #expect(numbers("[\(number)]").isEmpty, "\(number)")
    }
  }

  @Test(arguments: ["", "\"", "\"\\", "\"tmp-", "-", "{\"a\":\"", "[\"\\\"", "\"\\u00"])
  func `temporary ids are not found in a text that ends early`(_ text: String) {
    #expect(TemporaryIDs.Occurrences(in: Data(text.utf8)).isEmpty)
    let cut = "\"\(id)"
    #expect(TemporaryIDs.Occurrences(in: Data((text + cut).utf8)).strings.isSubset(of: [id.string]))
  }

  @Test func `temporary ids become the server's number`() {
    let json = #"{"ids":{"\#(id)":true},"int":\#(id.int),"list":["x","\#(id)"],"string":"\#(id)"}"#
    // A member of type String stays one.
    #expect(rewritten(json, as: "7") == #"{"ids":{"7":true},"int":7,"list":["x","7"],"string":"7"}"#)
    #expect(
      rewritten(json, as: "18446744073709551615")
        == #"{"ids":{"18446744073709551615":true},"int":18446744073709551615,"#
        + #""list":["x","18446744073709551615"],"string":"18446744073709551615"}"#)
  }

  @Test func `temporary ids become the server's string`() {
    #expect(rewritten(#"["\#(id)",\#(id.int)]"#, as: #""a""#) == #"["a","a"]"#)
    // A member of type Int stays one where it can.
    #expect(rewritten(#"["\#(id)",\#(id.int)]"#, as: #""12""#) == #"["12",12]"#)
    #expect(rewritten(#"{"\#(id.int)":{"\#(id)":\#(id.int)}}"#, as: "7") == #"{"7":{"7":7}}"#)
  }

  @Test func `replacing a temporary id leaves the rest of the JSON unchanged`() {
    let other = TemporaryID()
    let rest = #""a":[null,true,1.5,-3,"tmp-",{}],"other":"\#(other)""#
    #expect(rewritten(#"{\#(rest),"x":"\#(id)"}"#, as: "7") == #"{\#(rest),"x":"7"}"#)
    #expect(rewritten(#"{\#(rest)}"#, as: "7") == nil)
    #expect(rewritten("{}", as: "7") == nil)
    #expect(TemporaryIDs.rewritten(Data(#"["\#(id)"]"#.utf8), [:]) == nil)
  }

  /// An amount of money, and what no double has.
  @Test(arguments: [
    "1234567890123456.789012345", "0.1000", "1e400", "-0", "18446744073709551616", "123456789012345678901234567890",
    #""\u00e9""#, "[ 1 , 2 ]",
  ])
  func `replacing a temporary id leaves every digit of the rest, and its spelling`(value: String) {
    #expect(rewritten(#"{"amount": \#(value), "id":"\#(id)"}"#, as: "7") == #"{"amount": \#(value), "id":"7"}"#)
    #expect(rewritten(#"[\#(id.int),\#(value)]"#, as: "7") == #"[7,\#(value)]"#)
  }

  @Test func `a member that has the server's id already is kept`() {
    #expect(rewritten(#"{"\#(id)":1,"7":2}"#, as: "7") == #"{"7":2}"#)
  }

  @Test(arguments: ["null", "true", "1.5", "[1]", #"{"a":1}"#, "", "no JSON"])
  func `a temporary id is not replaced by a value that is no id`(_ given: String) {
    #expect(rewritten(#"["\#(id)",\#(id.int)]"#, as: given) == nil)
  }

  @Test func `temporary ids are replaced only by their own ids`() {
    let (one, two) = (TemporaryID(), TemporaryID())
    let json = Data(#"["\#(one)","\#(two)",\#(one.int),\#(two.int)]"#.utf8)
    let rewritten = TemporaryIDs.rewritten(json, [one.string: Data("1".utf8), two.string: Data("2".utf8)])
    #expect(rewritten == Data(#"["1","2",1,2]"#.utf8))
  }
}

@Suite struct `A scan for temporary ids` {
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `a scan for temporary ids finds what a parser finds`(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let ids = (0..<3).map { _ in TemporaryID() }
    let value = Self.value(ids, depth: 4, &generator)
    var strings: Set<String> = []
    var numbers: Set<Int64> = []
    Self.walk(value, &strings, &numbers)
    let found = TemporaryIDs.Occurrences(in: try value.data())
    #expect(found.strings == strings && found.numbers == numbers, "\(value)")
    // Nothing of them is left after they were replaced.
    let given = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1.string, Data("\($0)".utf8)) })
    let rewritten = TemporaryIDs.rewritten(try value.data(), given)
    #expect((rewritten == nil) == found.isEmpty)
    if let rewritten { #expect(TemporaryIDs.Occurrences(in: rewritten).isEmpty) }
  }

  private static func value(
    _ ids: [TemporaryID], depth: Int, _ generator: inout SeededGenerator
  ) -> JSONValue {
    let id = ids[Int.random(in: 0..<ids.count, using: &generator)]
    let texts = ["", "a", "\\", "\"", "\"\(id)", "\(id)\\", " \(id.int)", "\n\(id)", "\u{1}", "ü", "\(id.int)", "tmp-"]
    switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &generator) {
    case 0: return .string(id.string)
    case 1: return .integer(Int64(id.int))
    case 2: return .integer(Int64(id.int) * 10)
    case 3: return .number(Double(id.int) / 3)
    case 4, 5: return .string(texts[Int.random(in: 0..<texts.count, using: &generator)])
    case 6, 7: return .array((0..<3).map { _ in value(ids, depth: depth - 1, &generator) })
    default:
      let names = ["a", id.string, "\(id.int)", "\(id) ", "\"\(id)"]
      return .object(
        Dictionary(
          (0..<3).map { _ in
            (names[Int.random(in: 0..<names.count, using: &generator)], value(ids, depth: depth - 1, &generator))
          }
        ) { first, _ in first })
    }
  }

  private static func walk(_ value: JSONValue, _ strings: inout Set<String>, _ numbers: inout Set<Int64>) {
    switch value {
    case .string(let text): if TemporaryID.isTemporary(text) { strings.insert(text) }
    case .integer(let number): if TemporaryID.isTemporary(number) { numbers.insert(number) }
    case .array(let elements): for element in elements { walk(element, &strings, &numbers) }
    case .object(let members):
      for (name, value) in members {
        if TemporaryID.isTemporary(name) { strings.insert(name) }
        if let number = Int64(name), TemporaryID.isTemporary(number) { numbers.insert(number) }
        walk(value, &strings, &numbers)
      }
    default: break
    }
  }
}

@Suite struct `The settlement of ids` {
  private struct Composite: Codable, Hashable { var part = 1 }

  @Test func `the settlement of ids takes strings and integers`() {
    var settlement = Settlement()
    let id = TemporaryID()
    settlement.identify(id, as: 7)
    settlement.identify(id, as: "a")
    settlement.identify(id, as: UInt64.max)
    settlement.identify(id, as: UUID.numbered(1))
    let given = settlement.identities.map { String(decoding: $0.1, as: UTF8.self) }
    #expect(given == ["7", #""a""#, "18446744073709551615", #""00000000-0000-0000-0000-000000000001""#])
    #expect(settlement.identities.allSatisfy { $0.0 == id })
    #expect(settlement.failure == nil)
  }

  @Test func `the settlement of ids takes nothing else, and says so`() {
    for id in [1.5, .infinity] {
      var settlement = Settlement()
      settlement.identify(TemporaryID(), as: id)
      #expect(settlement.identities.isEmpty && settlement.failure != nil)
    }
    var settlement = Settlement()
    settlement.identify(TemporaryID(), as: Composite())
    #expect(settlement.identities.isEmpty && settlement.failure?.contains("Composite") == true)
  }

  @Test func `a settlement keeps an id that the server has given already`() throws {
    let id = try JSONDecoder().decode(TemporaryID.self, from: Data("7".utf8))
    var settlement = Settlement()
    settlement.identify(id, as: 8)
    // Or every text "7" of every saved write would become "8".
    #expect(settlement.identities.isEmpty && settlement.failure == nil)
  }
}
