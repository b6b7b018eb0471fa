import Foundation

/// A key with any name.
struct AnyKey: CodingKey, Hashable {
  var stringValue: String
  var intValue: Int? { Int(stringValue) }

  init(_ stringValue: String) { self.stringValue = stringValue }
  init(stringValue: String) { self.stringValue = stringValue }
  init(intValue: Int) { stringValue = "\(intValue)" }
}

struct Widths: Decodable {
  var a: Int8
  var b: Int16
  var c: Int32
  var d: Int64
  var e: UInt8
  var f: UInt16
  var g: UInt32
  var h: UInt64
  var i: Int128
  var j: UInt128
  var k: Float
  var l: Double
  var m: Bool
  var n: UInt

  static let schema = Schema.object(
    "abcdefghijn".map { (String($0), .integer) } + [("k", .number), ("l", .number), ("m", .bool)])
}

struct Sparse: Decodable {
  var id: Int?
  var name: String?
  var flag: Bool?
  var ratio: Double?
  var float: Float?
  var small: Int8?
  var wide: UInt64?
  var list: [Int]?
  var date: Date?
  var data: Data?
  var url: URL?
  var amount: Decimal?

  static let schema = Schema.object([
    ("id", .optional(.integer)), ("name", .optional(.string)), ("flag", .optional(.bool)),
    ("ratio", .optional(.number)),
    ("float", .optional(.number)), ("small", .optional(.integer)), ("wide", .optional(.integer)),
    ("list", .optional(.array(.integer))), ("date", .optional(.date)), ("data", .optional(.base64)),
    ("url", .optional(.address)), ("amount", .optional(.number)),
  ])
}

struct Special: Decodable {
  var date: Date
  var data: Data
  var url: URL
  var amount: Decimal

  static let schema = Schema.object([("date", .date), ("data", .base64), ("url", .address), ("amount", .number)])
}

struct Twofold: Decodable {
  var a: Int??
  var b: [String??]
  var c: [String: Bool??]?

  static let schema = Schema.object([
    ("a", .optional(.integer)), ("b", .array(.optional(.string))), ("c", .optional(.dictionary(.optional(.bool)))),
  ])
}

struct Snake: Decodable {
  var userId: Int
  var firstName: String?
  var lastSeenAt: Double
  var byName: [String: Int]
  var isOn: Bool?

  static let schema = Schema.object([
    ("userId", .integer), ("firstName", .optional(.string)), ("lastSeenAt", .number), ("byName", .dictionary(.integer)),
    ("isOn", .optional(.bool)),
  ])
}

final class Tree: Decodable {
  let name: String
  let children: [Tree]?
  let byName: [String: Tree]?

  @Sendable static func schema() -> Schema {
    .object([
      ("name", .string), ("children", .optional(.array(.later(schema)))),
      ("byName", .optional(.dictionary(.later(schema)))),
    ])
  }
}

// MARK: Classes

class Base: Decodable {
  let id: Int
  private enum CodingKeys: String, CodingKey { case id }
}

/// Reads the members of its superclass from its own object.
final class Flat: Base {
  let name: String
  private enum CodingKeys: String, CodingKey { case name }

  required init(from decoder: any Decoder) throws {
    name = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .name)
    try super.init(from: decoder)
  }

  static let schema = Schema.object([("name", .string), ("id", .integer)])
}

/// Reads its superclass from a member.
final class Derived: Base {
  let name: String
  let other: Base?
  private enum CodingKeys: String, CodingKey { case name, other }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name)
    other = try? Base(from: try container.superDecoder(forKey: .other))
    try super.init(from: try container.superDecoder())
  }

  static let schema = Schema.object([
    ("name", .string), ("super", .object([("id", .integer)])), ("other", .optional(.object([("id", .integer)]))),
  ])
}

/// Looks for a `super` that mostly is not there.
struct Absent: Decodable {
  var log: [String] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: AnyKey.self)
    for decoder in [try container.superDecoder(), try container.superDecoder(forKey: AnyKey("other"))] {
      log += Probe.log(of: decoder, budget: 2)
    }
  }

  static let schema = Schema.object([("id", .any), ("other", .any)])
}

// MARK: Enumerations

enum Shape: Decodable {
  case circle(radius: Double)
  case label(text: String, size: Int?)
  case pair(Int, Sparse?)
  case none

  static let schema = Schema.oneOf([
    .object([("circle", .object([("radius", .number)]))]),
    .object([("label", .object([("text", .string), ("size", .optional(.integer))]))]),
    .object([("pair", .object([("_0", .integer), ("_1", .optional(Sparse.schema))]))]),
    .object([("none", .object([]))]),
  ])
}

enum Color: String, Decodable, CodingKeyRepresentable { case red, green, blue = "\u{E9}" }
enum Level: Int, Decodable, CodingKeyRepresentable { case low = 1, high = 127 }

struct Colors: Decodable {
  var color: Color
  var level: Level?
  var byColor: [Color: Int]
  var byLevel: [Level: String]?

  static let colors = Schema.literal(["\"red\"", "\"green\"", "\"gr\\u0065en\"", "\"\\u00e9\"", "\"e\u{301}\"", "\"\""])
  static let levels = Schema.literal(["1", "127", "1.0", "2", "128", "\"1\""])
  static let schema = Schema.object([
    ("color", colors), ("level", .optional(levels)),
    ("byColor", .dictionary(.integer, names: ["red", "green", "\u{E9}", "other"])),
    ("byLevel", .optional(.dictionary(.string, names: ["1", "127", "2", "low"]))),
  ])
}

/// A union: the first type that the value has.
enum Union: Decodable {
  case byte(UInt8), number(Double), text(String), date(Date), many([Int]), flat(Snake), list([Union])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let value = try? container.decode(UInt8.self) {
      self = .byte(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(Date.self) {
      self = .date(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([Int].self) {
      self = .many(value)
    } else if let value = try? container.decode([Union].self) {
      self = .list(value)
    } else {
      self = .flat(try Snake(from: decoder))
    }
  }

  static let schema = Schema.oneOf([.integer, .number, .string, .date, .array(.integer), Snake.schema, .any])
}

/// Any JSON; reads every value of a text.
enum AnyJSON: Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([AnyJSON])
  case object([String: AnyJSON])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([AnyJSON].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: AnyJSON].self))
    }
  }
}
