import Foundation
import Testing

@testable import ReactorCore

@Suite struct `The parsers agree with other readers` {
  static let document = """
    {"id": 7, "title": "A \\u00e9 \\ud83d\\ude00 é😀 \\"x\\" \\\\ \\/", "score": -0.5e-3, "tags": ["a", [], {}, [1, 2.25]],
     "more": {"yes": true, "no": false, "none": null, "long": "abcdefghijklmnopqrstuvwxyz0123456789"}}
    """.data

  /// Checks that `JSONValue` and the other parsers say the same, and that nothing traps.
  private func check(_ data: Data) {
    let scanned = Result { () throws(ParserError) in _ = try Parser.jsonBytes().parse(data) }
    let parsed = Result { () throws(ParserError) in try JSONValue(parsing: data) }
    switch (scanned, parsed) {
    case (.success, .success): break
    case (.success, .failure(let error)): #expect(error.reason == .unacceptable, "\(data.text)")
    case (.failure(let left), .failure(let right)): #expect(left == right, "\(data.text)")
    case (.failure, .success): Issue.record("parsed although no JSON: \(data.text)")
    }
    guard case .failure(let error) = scanned else {
      if case .success(let value) = parsed {
        #expect((try? value.data()).flatMap { try? JSONValue(parsing: $0) } == value)
      }
      return
    }
    #expect((0...data.count).contains(error.position?.offset ?? -1))
  }

  @Test(arguments: 0..<20)
  func `whatever is changed in a document, nothing traps and both say the same`(_ seed: UInt64) {
    var random = SplitMix(state: seed)
    for _ in 0..<1_000 {
      var data = Self.document
      for _ in 0...Int.random(in: 0..<3, using: &random) { data.mutate(using: &random) }
      check(data)
    }
  }

  @Test(arguments: 0..<20)
  func `what JSONValue reads JSONDecoder reads`(_ seed: UInt64) throws {
    var random = SplitMix(state: seed)
    var read = 0
    for _ in 0..<100 {
      var data = Self.document
      data.mutate(using: &random)
      guard let value = try? JSONValue(parsing: data) else { continue }
      read += 1
      #expect(try value.comparable == JSONDecoder().decode(JSONValue.self, from: data).comparable, "\(data.text)")
    }
    #expect(read > 0)
  }

  @Test(arguments: 0..<20)
  func `no parser traps, and what is pruned has a place`(_ seed: UInt64) {
    let stories = #"{"d":[{"id":1,"title":"a\u00e9"},{"id":2,"title":"b","writer":{"name":"c"}},[{}],{"id":1e9}]}"#.data
    var random = SplitMix(state: seed)
    for _ in 0..<100 {
      var data = stories
      data.mutate(using: &random)
      let pruned =
        (try? Parser<[Story]>.json(keyPath: "d").parse(data).pruned) ?? []
        + ((try? Parser<[MappedStory]>.mappable(keyPath: "d").parse(data).pruned) ?? [])
        + ((try? Parser.jsonBytes(keyPath: "d", requiring: ["id"]).parse(data).pruned) ?? [])
      #expect(pruned.allSatisfy { $0.error.position != nil && $0.error.codingPath.hasPrefix("d[\($0.index)]") })
      guard let kept = try? Parser.jsonBytes(keyPath: "d", requiring: ["id"]).parse(data).model else { continue }
      #expect(throws: Never.self, "\(kept.text)") { try Parser.jsonBytes().parse(kept) }
    }
  }

  @Test(arguments: [
    "0", "-0", "1E5", "1e-5", "\"\"", "[]", "{}", " [ 1 , 2 ] ", "[[[]]]", #"{"a":{"b":[{"c":null}]}}"#, "true", "null",
    "123456789012345678", "9007199254740993.0", "5e-324", "1.7976931348623157e308", "\u{FEFF}[1]",
    "\"\u{7F}\u{10FFFF}\"",
    #""\u0000\ud83d\ude00""#, "0.1", "2.2250738585072011e-308", #"{"é":1}"#, #"{"\u0061":2}"#,
  ])
  func `good texts read the same as by JSONDecoder`(_ text: String) throws {
    let ours = try JSONValue(parsing: text.data)
    let theirs = try JSONDecoder().decode(JSONValue.self, from: text.data)
    #expect(try ours.data() == (try JSONValue(parsing: ours.data())).data())
    #expect(ours.comparable == theirs.comparable)
  }
}

extension JSONValue {
  /// Without the difference between 1 and 1.0, which JSONDecoder does not make.
  fileprivate var comparable: JSONValue {
    switch self {
    case .integer(let value): .number(Double(value))
    case .unsigned(let value): .number(Double(value))
    case .array(let elements): .array(elements.map(\.comparable))
    case .object(let members): .object(members.mapValues(\.comparable))
    default: self
    }
  }
}

extension Data {
  fileprivate mutating func mutate(using random: inout SplitMix) {
    guard !isEmpty else { return }
    let index = Int.random(in: 0..<count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: remove(at: index)
    case 1: self[index] = UInt8.random(in: .min ... .max, using: &random)
    case 2: insert(Data(#"{}[]",:\0-.eE"#.utf8).randomElement(using: &random) ?? 0, at: index)
    case 3: self = prefix(index)
    case 4: self[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    default:
      let other = Int.random(in: 0..<count, using: &random)
      insert(contentsOf: Data(self[Swift.min(index, other)..<Swift.max(index, other)]), at: index)
    }
  }
}

/// A generator whose numbers are the same in every run.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
