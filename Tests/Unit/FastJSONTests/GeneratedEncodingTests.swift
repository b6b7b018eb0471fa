import FastJSON
import Foundation
import ReactorTesting
import Testing

/// A value that encodes itself by steps, so that containers are asked for and filled in any order.
private struct Scripted: Encodable, Sendable, CustomStringConvertible {
  enum Form { case nothing, single, object, array }

  enum Step: Sendable {
    /// A scalar or any other value, by a method of its own type or by the generic one.
    case leaf(Leaf)
    case child(Scripted)
    case nestedObject, nestedArray
    case superEncoder(Scripted)
    case again
  }

  var form: Form
  /// The number of the container among those that are open, the number of the key, and the step.
  var steps: [(container: Int, key: Int, step: Step)]

  var description: String { "\(form) \(steps)" }

  private enum Container {
    case object(KeyedEncodingContainer<AnyKey>)
    case array(any UnkeyedEncodingContainer)
  }

  func encode(to encoder: any Encoder) throws {
    switch form {
    case .nothing: return
    case .single:
      var container = encoder.singleValueContainer()
      switch steps.first?.step {
      case .leaf(let leaf): try leaf.encode(in: &container)
      case .child(let child): try container.encode(child)
      default: try container.encodeNil()
      }
    case .object, .array: try encodeContainers(to: encoder)
    }
  }

  private func encodeContainers(to encoder: any Encoder) throws {
    func root() -> Container {
      form == .object ? .object(encoder.container(keyedBy: AnyKey.self)) : .array(encoder.unkeyedContainer())
    }
    var containers = [root()]
    for (number, key, step) in steps {
      let number = number % containers.count
      if case .again = step { containers.append(root()) }
      switch containers[number] {
      case .object(var container):
        if let new = try perform(step, key, in: &container) { containers.append(new) }
      case .array(var container):
        if let new = try perform(step, in: &container) { containers.append(new) }
      }
    }
  }

  /// A key is of one kind of value: `JSONEncoder` ends the process for two kinds.
  private func perform(
    _ step: Step, _ key: Int, in container: inout KeyedEncodingContainer<AnyKey>
  ) throws -> Container? {
    switch step {
    case .leaf(let leaf): try leaf.encode(in: &container, AnyKey("leaf\(key)/\(key % 2 == 0 ? "e\u{301}" : "\u{E9}")"))
    case .child(let child) where child.form == .object: try container.encode(child, forKey: AnyKey("anObject\(key)"))
    case .child(let child): try container.encode(child, forKey: AnyKey("childValueID\(key)"))
    case .nestedObject:
      return .object(container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("anObject\(key)")))
    case .nestedArray: return .array(container.nestedUnkeyedContainer(forKey: AnyKey("anArray\(key)")))
    case .superEncoder(let parent):
      if key % 2 == 0 {
        try parent.encode(to: container.superEncoder())
      } else {
        try parent.encode(to: container.superEncoder(forKey: AnyKey("super\(key)")))
      }
    case .again: break
    }
    return nil
  }

  private func perform(_ step: Step, in container: inout any UnkeyedEncodingContainer) throws -> Container? {
    switch step {
    case .leaf(let leaf): try leaf.encode(in: &container)
    case .child(let child): try container.encode(child)
    case .nestedObject: return .object(container.nestedContainer(keyedBy: AnyKey.self))
    case .nestedArray: return .array(container.nestedUnkeyedContainer())
    case .superEncoder(let parent): try parent.encode(to: container.superEncoder())
    case .again: break
    }
    return nil
  }
}

private enum Leaf: Sendable {
  case null, bool(Bool), int(Int), byte(UInt8), wide(Int128), double(Double), float(Float), string(String)
  case any(any Encodable & Sendable)

  func encode(in container: inout any SingleValueEncodingContainer) throws {
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .byte(let value): try container.encode(value)
    case .wide(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .float(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .any(let value): try container.encode(value)
    }
  }

  func encode(in container: inout any UnkeyedEncodingContainer) throws {
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .byte(let value): try container.encode(value)
    case .wide(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .float(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .any(let value): try container.encode(value)
    }
  }

  func encode(in container: inout KeyedEncodingContainer<AnyKey>, _ key: AnyKey) throws {
    switch self {
    case .null: try container.encodeNil(forKey: key)
    case .bool(let value): try container.encode(value, forKey: key)
    case .int(let value): try container.encode(value, forKey: key)
    case .byte(let value): try container.encode(value, forKey: key)
    case .wide(let value): try container.encode(value, forKey: key)
    case .double(let value): try container.encode(value, forKey: key)
    case .float(let value): try container.encode(value, forKey: key)
    case .string(let value): try container.encode(value, forKey: key)
    case .any(let value): try container.encode(value, forKey: key)
    }
  }
}

private struct Name: CodingKeyRepresentable, Codable, Hashable, Sendable {
  var name: String
  var codingKey: any CodingKey { AnyKey("name\(name)") }
  init(_ name: String) { self.name = name }
  init?<T: CodingKey>(codingKey: T) { name = codingKey.stringValue }
}

private struct Person: Codable, Hashable, Sendable {
  var firstName: String
  var homeURL: URL?
  var bornAt: Date
}

private struct Generator {
  var random: SeededGenerator

  private mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func scripted(_ depth: Int = 3) -> Scripted {
    let form: Scripted.Form = [.object, .object, .array, .array, .single, .nothing][count(0...(depth == 3 ? 4 : 5))]
    let length = form == .single ? 1 : count(0...(count(0...20) == 0 ? 70 : 7))
    let steps = (0..<length).map { _ in
      (container: count(0...9), key: count(0...(count(0...3) == 0 ? 60 : 6)), step: step(depth, form))
    }
    return Scripted(form: form, steps: steps)
  }

  private mutating func step(_ depth: Int, _ form: Scripted.Form) -> Scripted.Step {
    let kind = count(0...9)
    if form == .single { return depth > 0 && kind < 4 ? .child(scripted(depth - 1)) : .leaf(leaf()) }
    switch kind {
    case 0 where depth > 0, 1 where depth > 0: return .child(scripted(depth - 1))
    case 2: return .nestedObject
    case 3: return .nestedArray
    case 4 where depth > 0: return .superEncoder(scripted(depth - 1))
    case 5: return .again
    default: return .leaf(leaf())
    }
  }

  private mutating func leaf() -> Leaf {
    switch count(0...8) {
    case 0: return .null
    case 1: return .bool(random.next() % 2 == 0)
    case 2: return .int(count(0...1) == 0 ? count(-300...300) : Int(truncatingIfNeeded: random.next()))
    case 3: return .byte(UInt8(count(0...255)))
    case 4: return .wide(Int128(Int(truncatingIfNeeded: random.next())) * Int128(count(-9...9_999)))
    case 5: return .double(double())
    case 6: return .float(Float(double()))
    case 7: return .string(text())
    default: return .any(value())
    }
  }

  private mutating func value() -> any Encodable & Sendable {
    switch count(0...16) {
    case 0: return date()
    case 1: return Data(text().utf8)
    case 2: return URL(string: "https://example.com/a/\(count(0...99))?q=%22") ?? URL(fileURLWithPath: "/")
    case 3: return Decimal(sign: .minus, exponent: count(-30...30), significand: Decimal(count(0...999_999)))
    case 4: return UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(count(0...255))))
    case 5: return (0..<count(0...4)).map { _ in text() }
    case 6: return (0..<count(0...4)).map { _ in double() }
    case 7: return (0..<count(0...4)).map { Int8(truncatingIfNeeded: $0 * 50) }
    case 8: return [Float(double()), 0.1, -0.0]
    case 9: return [true, false]
    case 10: return Dictionary((0..<count(0...50)).map { ("\(text())\($0)", $0) }) { $1 }
    case 11: return Dictionary((0..<count(0...5)).map { ($0 * 7 - 9, text()) }) { $1 }
    case 12: return [Name("x"): 1, Name("someY"): 2]
    case 13: return [date(): 1]
    case 14: return [Person(firstName: text(), homeURL: nil, bornAt: date())]
    case 15: return ["personKey": Person(firstName: text(), homeURL: URL(string: "a:b"), bornAt: date())]
    default: return [[1, nil], nil, []] as [[Int?]?]
    }
  }

  private mutating func date() -> Date {
    let seconds = Double(count(-12_622_780_800...252_455_616_000)) + Double(count(0...999)) / 1_000
    return Date(timeIntervalSinceReferenceDate: count(0...9) == 0 ? seconds * 3 : seconds)
  }

  mutating func double() -> Double {
    switch count(0...7) {
    case 0: return Double(count(-1_000...1_000))
    case 1: return Double(count(-99_999...99_999)) / 1_000
    case 2: return Double(count(0...9_999_999_999_999_999)) / Double(count(1...9) * 1_000)
    case 3: return Double(bitPattern: random.next())
    case 4: return Double(sign: .minus, exponent: count(40...60), significand: 1.5)
    case 5:
      return [0, -0.0, 1e100, 1e16, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0.0001, 0.00001, 0.001][
        count(0...8)]
    case 6: return Double(count(0...99_999)) * 0.01
    default: return Double(count(0...9)) + 0.1 + 0.2
    }
  }

  mutating func text() -> String {
    let alphabet: [Character] =
      count(0...9) < 6
      ? ["a", "b", "c", "x", "_", "0", "9", " ", "Z"]
      : ["a", "é", "ß", "漢", "😀", "\u{1}", "\u{1F}", "\n", "\"", "\\", "/", "\u{7F}", "_", "\u{2028}", "\t", "\0"]
    return String((0..<count(0...(count(0...5) == 0 ? 60 : 10))).map { _ in alphabet[count(0...alphabet.count - 1)] })
  }

  mutating func encoder() -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    if count(0...2) == 0 { encoder.outputFormatting.insert(.prettyPrinted) }
    if count(0...1) == 0 { encoder.outputFormatting.insert(.withoutEscapingSlashes) }
    encoder.dateEncodingStrategy =
      [
        .deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601,
        .custom { date, encoder in
          if date.timeIntervalSinceReferenceDate > 0 {
            try "\(Int(date.timeIntervalSinceReferenceDate) % 10)".encode(to: encoder)
          }
        },
      ][count(0...4)]
    encoder.dataEncodingStrategy =
      [.base64, .deferredToData, .custom { data, encoder in try ["n": data.count].encode(to: encoder) }][count(0...2)]
    encoder.keyEncodingStrategy =
      [.useDefaultKeys, .convertToSnakeCase, .custom { AnyKey("\($0.last?.stringValue ?? "")!") }][count(0...2)]
    if count(0...2) > 0 {
      encoder.nonConformingFloatEncodingStrategy =
        .convertToString(positiveInfinity: "+/", negativeInfinity: "-\"", nan: "n")
    }
    return encoder
  }
}

@Suite struct `Agreement with JSONEncoder of generated values` {
  /// Change it to look at other values.
  private static let seed: UInt64 = 0xE4C0_0001
  private static let rounds = 1_000

  @Test func `values that ask for containers in any order have the bytes of JSONEncoder`() {
    var generator = Generator(random: SeededGenerator(seed: Self.seed))
    var (written, refused) = (0, 0)
    for round in 0..<Self.rounds {
      let (value, foundation) = (generator.scripted(), generator.encoder())
      let encoder = FastJSONEncoder(foundation)
      let expected = Encoded { try foundation.encode(value) }
      let found = Encoded { try encoder.encode(value) }
      if case .text = found { written += 1 } else { refused += 1 }
      if expected != found, !(expected.isInvalid && found.isInvalid) {
        Issue.record("round \(round): \(value): expected \(expected), found \(found)")
        return
      }
    }
    #expect(written > Self.rounds / 2, "\(written) values were encoded, \(refused) refused")
  }

  @Test func `numbers have the digits of JSONEncoder`() throws {
    var generator = Generator(random: SeededGenerator(seed: Self.seed))
    let doubles = (0..<Self.rounds * 10).map { _ in generator.double() }.filter(\.isFinite)
    #expect(try FastJSONEncoder().encode(doubles) == JSONEncoder().encode(doubles))
    let floats = doubles.map { Float($0) }.filter(\.isFinite)
    #expect(try FastJSONEncoder().encode(floats) == JSONEncoder().encode(floats))
    #expect(try FastJSONDecoder().decode([Double].self, from: FastJSONEncoder().encode(doubles)) == doubles)
    #expect(try FastJSONDecoder().decode([Float].self, from: FastJSONEncoder().encode(floats)) == floats)
  }

  @Test func `strings have the escapes of JSONEncoder`() throws {
    var generator = Generator(random: SeededGenerator(seed: Self.seed))
    let texts =
      (0..<Self.rounds).map { _ in generator.text() } + (0..<0x300).map { "abc\(scalar(UInt32($0)))defghijk" }
    #expect(try FastJSONEncoder().encode(texts) == JSONEncoder().encode(texts))
    #expect(try FastJSONDecoder().decode([String].self, from: FastJSONEncoder().encode(texts)) == texts)
  }
}
