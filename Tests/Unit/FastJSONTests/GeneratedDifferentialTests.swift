import FastJSON
import Foundation
import ReactorTesting
import Testing

/// The kind of JSON that a type takes.
private indirect enum Schema: Sendable {
  case integer(ClosedRange<Int>)
  case double
  case decimal
  case bool
  case string
  case date
  case base64
  case address
  case literal([String])
  case optional(Schema)
  case array(Schema)
  case dictionary(Schema)
  case object([(String, Schema)])
  /// An object with exactly these members.
  case exact([(String, Schema)])
  case oneOf([Schema])
}

/// JSON as it will be written.
private indirect enum Node {
  struct Member {
    var name: String
    var value: Node
  }

  case scalar(String)
  case array([Node])
  case object([Member])
}

/// Texts for types, some of them with one fault.
private struct Generator {
  var random: SeededGenerator

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
  private mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func text(of schema: Schema) -> String {
    var node = node(of: schema)
    if chance(40) { spoil(&node) }
    return write(node)
  }

  // MARK: Values

  private mutating func node(of schema: Schema) -> Node {
    switch schema {
    case .integer, .double, .decimal, .bool, .string, .date, .base64, .address, .literal:
      return .scalar(scalar(of: schema))
    case .optional(let wrapped): return chance(30) ? .scalar("null") : node(of: wrapped)
    case .oneOf(let schemas): return node(of: schemas[count(0...schemas.count - 1)])
    case .array(let element):
      let length = chance(5) ? count(30...40) : count(0...5)
      return .array((0..<length).map { _ in node(of: element) })
    case .dictionary(let value):
      let names = Set((0..<count(0...5)).map { _ in characters(0...12) }).sorted()
      return .object(names.map { Node.Member(name: $0, value: node(of: value)) })
    case .exact(let members):
      return .object(members.map { Node.Member(name: $0.0, value: node(of: $0.1)) })
    case .object(let members): return object(members)
    }
  }

  /// Members in any order, some absent that may be, some more than asked for, some twice with the
  /// same value.
  private mutating func object(_ schema: [(String, Schema)]) -> Node {
    var members: [Node.Member] = []
    for (name, schema) in schema {
      if case .optional = schema, chance(30) { continue }
      members.append(Node.Member(name: name, value: node(of: schema)))
    }
    if chance(40) { members.shuffle(using: &random) }
    if chance(30) {
      let extra = Node.Member(name: "extra " + characters(0...10), value: node(of: .array(.string)))
      members.insert(extra, at: count(0...members.count))
    }
    if chance(3) {
      for number in 0..<40 { members.append(Node.Member(name: "more \(number)", value: .scalar("\(number)"))) }
    }
    if chance(10), let twin = members.randomElement(using: &random) { members.append(twin) }
    return .object(members)
  }

  private mutating func scalar(of schema: Schema) -> String {
    switch schema {
    case .integer(let range):
      let limit = chance(50) ? range.lowerBound : range.upperBound
      let number = chance(10) ? limit : Int.random(in: range, using: &random)
      guard number.magnitude < 1 << 53, chance(15) else { return "\(number)" }
      return chance(50) ? "\(number).0" : "\(number)e0"
    case .double: return double()
    case .decimal: return "\(count(-100_000...100_000)).\(count(0...99_999))"
    case .bool: return chance(50) ? "true" : "false"
    case .date:
      let day = "20\(count(10...99))-0\(count(1...9))-\(count(10...28))"
      return "\"\(day)T\(count(10...23)):\(count(10...59)):00Z\""
    case .base64: return quoted(Data(characters(0...9).utf8).base64EncodedString())
    case .address: return quoted("https://example.com/\(count(0...99))")
    case .literal(let literals): return literals[count(0...literals.count - 1)]
    default: return quoted(characters(0...24))
    }
  }

  private mutating func double() -> String {
    switch count(0...4) {
    case 0: "\(count(-1_000...1_000))"
    case 1: "\(count(0...999)).\(count(0...999_999))"
    case 2: "-\(count(0...9)).\(random.next())e\(count(-30...30))"
    case 3: "\(random.next())e\(count(-300...280))"
    default: "\(count(1...9))E+\(count(0...20))"
    }
  }

  private mutating func characters(_ range: ClosedRange<Int>) -> String {
    let alphabet: [Character] =
      chance(70)
      ? ["a", "b", "c", "x", "_", "0", "9", " ", "Z"]
      : ["a", "é", "ß", "漢", "😀", "\u{1}", "\n", "\"", "\\", "/", "\u{7F}", "_", "\u{2028}"]
    return String((0..<count(range)).map { _ in alphabet[count(0...alphabet.count - 1)] })
  }

  // MARK: Faults

  private static let wrong = [
    "null", "true", "-1", "1.5", "300", "70000", "1e3", "99999999999999999999", "\"\"", "\"text\"", "[]", "{}",
    "[null]", "{\"a\":1}",
  ]

  private mutating func spoil(_ node: inout Node) {
    switch node {
    case .array(var elements) where !elements.isEmpty && chance(90):
      let index = count(0...elements.count - 1)
      var element = elements[index]
      spoil(&element)
      elements[index] = element
      node = .array(elements)
    case .object(var members) where !members.isEmpty && chance(90):
      let index = count(0...members.count - 1)
      if chance(25) {
        let name = members[index].name
        members.removeAll { $0.name == name }
      } else {
        var member = members[index]
        spoil(&member.value)
        // Of equal names, only one would be spoiled.
        members = members.filter { $0.name != member.name }
        members.insert(member, at: count(0...members.count))
      }
      node = .object(members)
    default:
      node = .scalar(Self.wrong[count(0...Self.wrong.count - 1)])
    }
  }

  // MARK: Text

  private mutating func space() -> String {
    chance(90) ? "" : [" ", "\n", "\t", "\r\n  "][count(0...3)]
  }

  private mutating func write(_ node: Node) -> String {
    switch node {
    case .scalar(let text): return space() + text + space()
    case .array(let nodes): return "[" + nodes.map { write($0) }.joined(separator: ",") + space() + "]"
    case .object(let members):
      let texts = members.map { space() + quoted($0.name) + space() + ":" + write($0.value) }
      return "{" + texts.joined(separator: ",") + space() + "}"
    }
  }

  /// A string of JSON; a few characters are escaped without need.
  private mutating func quoted(_ text: String) -> String {
    var result = "\""
    for unit in text.unicodeScalars {
      if unit.value < 0x20 || unit == "\"" || unit == "\\" || chance(5) {
        for half in String(unit).utf16 {
          let digits = String(half, radix: 16, uppercase: chance(50))
          result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        result.unicodeScalars.append(unit)
      }
    }
    return result + "\""
  }
}

// MARK: Types

private struct Flat: Decodable, Equatable {
  var id: Int
  var small: Int8
  var byte: UInt8
  var wide: UInt32
  var name: String
  var score: Double
  var ratio: Float
  static let schema = Schema.object([
    ("id", .integer(Int.min...Int.max)), ("small", .integer(-128...127)), ("byte", .integer(0...255)),
    ("wide", .integer(0...4_294_967_295)), ("name", .string), ("score", .double), ("ratio", .decimal),
  ])
}

private struct Sparse: Decodable, Equatable {
  var a: Int?
  var b: String?
  var c: Bool?
  var d: Double?
  var e: [Int]?
  var f: Flat?
  static let schema = Schema.object([
    ("a", .optional(.integer(-9...9))), ("b", .optional(.string)), ("c", .optional(.bool)), ("d", .optional(.double)),
    ("e", .optional(.array(.integer(0...9)))), ("f", .optional(Flat.schema)),
  ])
}

private struct Tree: Decodable, Equatable {
  var name: String
  var children: [Tree]?
  static func schema(_ depth: Int) -> Schema {
    let children: Schema = depth == 0 ? .literal(["[]", "null"]) : .optional(.array(schema(depth - 1)))
    return .object([("name", .string), ("children", children)])
  }
}

private struct Special: Decodable, Equatable {
  var date: Date
  var data: Data?
  var url: URL
  var amount: Decimal
  static let schema = Schema.object([
    ("date", .date), ("data", .optional(.base64)), ("url", .address), ("amount", .decimal),
  ])
}

private enum Shape: Decodable, Equatable {
  case circle(radius: Double)
  case label(text: String, size: Int?)
  static let schema = Schema.oneOf([
    .exact([("circle", .exact([("radius", .double)]))]),
    .exact([("label", .object([("text", .string), ("size", .optional(.integer(0...9)))]))]),
  ])
}

private enum Color: String, Decodable, Equatable {
  case red, green
  static let schema = Schema.literal(["\"red\"", "\"green\"", "\"gr\\u0065en\""])
}

private enum Either: Decodable, Equatable {
  case number(Int), text(String), many([Int]), flat(Flat)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(Int.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([Int].self) {
      self = .many(value)
    } else {
      self = .flat(try container.decode(Flat.self))
    }
  }
  static let schema = Schema.oneOf([.integer(0...99), .string, .array(.integer(0...9)), Flat.schema])
}

/// A model by hand: nested containers, a decoder for `super`, and members in any order.
private struct Manual: Decodable, Equatable {
  var values: [Int] = []
  var base: Sparse
  var names: Set<String> = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    base = try Sparse(from: container.superDecoder())
    var list = try container.nestedUnkeyedContainer(forKey: AnyKey("list"))
    while !list.isAtEnd {
      if try list.decodeNil() { continue }
      values.append(try list.decode(Int.self))
    }
    let inner = try container.nestedContainer(keyedBy: AnyKey.self, forKey: AnyKey("inner"))
    names = Set(inner.allKeys.map(\.stringValue))
    for key in inner.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
      values.append(try inner.decode([Int].self, forKey: key).count)
    }
  }

  static let schema = Schema.object([
    ("list", .array(.optional(.integer(0...99)))), ("inner", .dictionary(.array(.integer(0...9)))),
    ("super", Sparse.schema),
  ])
}

private struct Snake: Decodable, Equatable {
  var userId: Int
  var firstName: String?
  var lastSeenAt: Double
  var byName: [String: Int]
  static let schema = Schema.object([
    ("user_id", .integer(0...99)), ("first_name", .optional(.string)), ("last_seen_at", .double),
    ("by_name", .dictionary(.integer(0...9))),
  ])
}

private struct Wide: Decodable, Equatable {
  var values: [String: [String: Int?]]
  var grid: [[Double]]
  var colors: [Color]
  static let schema = Schema.object([
    ("values", .dictionary(.dictionary(.optional(.integer(0...9))))), ("grid", .array(.array(.double))),
    ("colors", .array(Color.schema)),
  ])
}

// MARK: Tests

@Suite struct `Agreement with JSONDecoder of generated texts` {
  /// Change it to look at other texts.
  private static let seed: UInt64 = 0xFA57_0001
  private static let rounds = 400

  private func compare<Value: Decodable & Equatable>(
    _ type: Value.Type, _ schema: Schema, _ configure: (JSONDecoder) -> Void = { _ in }
  ) {
    var generator = Generator(random: SeededGenerator(seed: Self.seed))
    let foundation = JSONDecoder()
    configure(foundation)
    let decoder = FastJSONDecoder(foundation)
    var (accepted, refused) = (0, 0)
    for _ in 0..<Self.rounds {
      let text = generator.text(of: schema)
      let data = Data(text.utf8)
      let expected = Outcome { try foundation.decode(type, from: data) }
      // One decoder for all, so that what it has learned of one text serves the next.
      let found = Outcome { try decoder.decode(type, from: data) }
      if case .value = found { accepted += 1 } else { refused += 1 }
      if found != expected { Issue.record("\(type) of \(text): expected \(expected), found \(found)") }
    }
    #expect(accepted > Self.rounds / 4, "\(accepted) texts were accepted, \(refused) refused")
  }

  @Test func `generated flat models decode as by JSONDecoder`() { compare(Flat.self, Flat.schema) }
  @Test func `generated lists of flat models decode as by JSONDecoder`() { compare([Flat].self, .array(Flat.schema)) }
  @Test func `generated optional members decode as by JSONDecoder`() { compare([Sparse].self, .array(Sparse.schema)) }
  @Test func `generated trees decode as by JSONDecoder`() { compare(Tree.self, Tree.schema(4)) }
  @Test func `generated enums with values decode as by JSONDecoder`() { compare([Shape].self, .array(Shape.schema)) }
  @Test func `generated raw values decode as by JSONDecoder`() { compare([Color].self, .array(Color.schema)) }
  @Test func `generated unions decode as by JSONDecoder`() { compare([Either].self, .array(Either.schema)) }
  @Test func `generated models with a handwritten init decode as by JSONDecoder`() {
    compare(Manual.self, Manual.schema)
  }
  @Test func `generated dictionaries and grids decode as by JSONDecoder`() { compare(Wide.self, Wide.schema) }
  @Test func `generated Optionals decode as by JSONDecoder`() {
    compare([Int?].self, .array(.optional(.integer(-99...99))))
  }
  @Test func `generated sets decode as by JSONDecoder`() {
    compare([String: Set<Int>].self, .dictionary(.array(.integer(0...9))))
  }

  @Test func `generated dates, data, URLs and Decimals decode as by JSONDecoder`() {
    compare([Special].self, .array(Special.schema)) { $0.dateDecodingStrategy = .iso8601 }
  }

  @Test func `generated names in snake case decode as by JSONDecoder`() {
    compare([Snake].self, .array(Snake.schema)) { $0.keyDecodingStrategy = .convertFromSnakeCase }
  }

  @Test func `generated names of a custom strategy decode as by JSONDecoder`() {
    compare([Sparse].self, .array(Sparse.schema)) {
      $0.keyDecodingStrategy = .custom { AnyKey($0.last?.stringValue.lowercased() ?? "") }
    }
  }
}
