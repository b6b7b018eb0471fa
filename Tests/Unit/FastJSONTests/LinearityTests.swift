import FastJSON
import Foundation
import Testing

/// One of several types, tried in turn.
private enum Union: Decodable, Equatable {
  case flag(Bool)
  case number(Int)
  case pair([String: Int])
  case list([Int])
  case text(String)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Bool.self) {
      self = .flag(value)
    } else if let value = try? container.decode(Int.self) {
      self = .number(value)
    } else if let value = try? container.decode([String: Int].self) {
      self = .pair(value)
    } else if let value = try? container.decode([Int].self) {
      self = .list(value)
    } else {
      self = .text(try container.decode(String.self))
    }
  }

  static func sample(_ number: Int) -> (text: String, value: Union) {
    switch number % 5 {
    case 0: ("\"t\(number)\"", .text("t\(number)"))
    case 1: ("[\(number)]", .list([number]))
    case 2: ("{\"a\":\(number)}", .pair(["a": number]))
    case 3: ("\(number)", .number(number))
    default: ("true", .flag(true))
    }
  }
}

/// The valid elements, each read by a separate decoder.
private struct Lossy<Element: Decodable>: Decodable {
  var elements: [Element] = []

  init(from decoder: any Decoder) throws {
    var list = try decoder.unkeyedContainer()
    while !list.isAtEnd {
      let element = try list.superDecoder()
      if let value = try? Element(from: element) { elements.append(value) }
    }
  }
}

/// All members, each asked for by name, in the order of the text and against it.
private struct Asked: Decodable {
  var sum = 0
  var count = 0

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    let keys = container.allKeys
    count = keys.count
    for key in keys { sum += try container.decode(Int.self, forKey: key) }
    for key in keys.reversed() { sum += try container.decode(Int.self, forKey: key) }
    for number in 0..<1_000 where container.contains(AnyKey("absent \(number)")) { count = -1 }
  }
}

private func object(_ names: some Sequence<String>) -> String {
  "{" + names.enumerated().map { "\"\($0.element)\":\($0.offset)" }.joined(separator: ",") + "}"
}

/// None of these ends within a lifetime of patience if its work grows with the square of the text.
@Suite struct `Work grows with the text` {
  private let count = 100_000

  @Test func `an object of 100,000 members`() throws {
    let names = (0..<count).map { "name \($0)" }
    let asked = try decode(Asked.self, object(names))
    #expect(asked.count == count && asked.sum == count * (count - 1))
    #expect(try decode([String: Int].self, object(names)).count == count)
  }

  @Test func `an object of 100,000 names beyond ASCII`() throws {
    let asked = try decode(Asked.self, object((0..<count).map { "é\($0)" }))
    #expect(asked.count == count && asked.sum == count * (count - 1))
  }

  @Test func `an object of 100,000 names with one hash is decoded in linear time`() throws {
    let asked = try decode(Asked.self, object((0..<count).map { "firsteight\(1_000_000 + $0)lasteight" }))
    #expect(asked.count == count && asked.sum == count * (count - 1))
  }

  @Test func `an object of one name, 100,000 times`() throws {
    #expect(try decode([String: Int].self, object(Array(repeating: "a", count: count))) == ["a": 0])
    let asked = try decode(Asked.self, object(Array(repeating: "é", count: count)))
    #expect(asked.count == 1 && asked.sum == 0)
  }

  @Test func `100,000 names in snake case`() throws {
    let decoder = configured { $0.keyDecodingStrategy = .convertFromSnakeCase }
    let asked = try decode(Asked.self, object((0..<count).map { "name_\($0)_x" }), with: decoder)
    #expect(asked.count == count && asked.sum == count * (count - 1))
  }

  @Test func `100,000 names by a custom strategy`() throws {
    let calls = Box(0)
    let decoder = configured {
      $0.keyDecodingStrategy = .custom { path in
        calls.update { $0 += 1 }
        return AnyKey(path.last?.stringValue ?? "")
      }
    }
    let asked = try decode(Asked.self, object((0..<count).map { "n\($0)" }), with: decoder)
    #expect(asked.count == count && asked.sum == count * (count - 1))
    #expect(calls.value == count)
  }

  @Test func `20,000 unions, tried type by type`() throws {
    let samples = (0..<20_000).map(Union.sample)
    let text = "[" + samples.map { $0.text }.joined(separator: ",") + "]"
    #expect(try decode([Union].self, text) == samples.map { $0.value })
    #expect(try decode([String: [Union]].self, "{\"a\":\(text)}")["a"]?.count == 20_000)
  }

  @Test func `20,000 elements of which every other one is wrong`() throws {
    struct Item: Decodable { let id: Int }
    let items = (0..<20_000).map { $0.isMultiple(of: 2) ? "{\"id\":\($0)}" : "{\"id\":\"x\"}" }
    let lossy = try decode(Lossy<Item>.self, "[" + items.joined(separator: ",") + "]")
    #expect(lossy.elements.map(\.id) == Array(stride(from: 0, to: 20_000, by: 2)))
  }

  @Test func `100,000 objects with absent and shuffled members`() throws {
    struct Sparse: Decodable, Equatable {
      let a: Int?
      let b: Int?
      let c: Int?
      let d: Int?
    }
    let texts = ["{\"a\":1,\"d\":4}", "{\"d\":4,\"a\":1}", "{\"x\":0,\"d\":4,\"y\":0,\"a\":1}"]
    let text = "[" + (0..<count).map { texts[$0 % 3] }.joined(separator: ",") + "]"
    let values = try decode([Sparse].self, text)
    #expect(values.count == count)
    #expect(values.allSatisfy { $0 == Sparse(a: 1, b: nil, c: nil, d: 4) })
  }

  @Test func `a million escapes in one string`() throws {
    let text = "\"" + String(repeating: #"\u0041\n"#, count: 500_000) + "\""
    let value = try decode(String.self, text)
    #expect(value.utf8.count == 1_000_000 && value.hasPrefix("A\nA\n"))
  }

  @Test func `a million digits`() throws {
    let digits = String(repeating: "7", count: 1_000_000)
    #expect(try decode(Double.self, "0.\(digits)") == Double("0.\(digits)"))
    #expect(isRefused(Int.self, digits))
    #expect(isRefused(Double.self, digits))
  }

  @Test func `100,000 empty containers`() throws {
    let lists = "[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]"
    #expect(try decode([[Int]].self, lists).count == count)
    let text = "[" + Array(repeating: "{}", count: count).joined(separator: ",") + "]"
    #expect(try decode([Nothing].self, text).count == count)
  }
}
