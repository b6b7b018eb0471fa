import FastJSON
import Foundation

/// A type, the texts that it takes, and how both decoders read it.
struct Subject: Sendable {
  let name: String
  let schema: Schema
  /// The type has dictionaries by other keys than strings.
  let hasOtherKeys: Bool
  let theirs: @Sendable (JSONDecoder, Data) -> Outcome
  let ours: @Sendable (FastJSONDecoder, Data) -> Outcome

  init<Value: Decodable>(_ type: Value.Type, _ schema: Schema, hasOtherKeys: Bool = false) {
    name = "\(type)"
    self.schema = schema
    self.hasOtherKeys = hasOtherKeys
    theirs = { decoder, data in Outcome { try decoder.decode(Value.self, from: data) } }
    ours = { decoder, data in Outcome { try decoder.decode(Value.self, from: data) } }
  }

  static let all: [Subject] = scalars + collections + models

  /// A type by itself, as an element, as a member, and as a nullable member.
  private static func each<Value: Decodable>(_ type: Value.Type, _ schema: Schema, _ hasOtherKeys: Bool = false)
    -> [Subject]
  {
    [
      Subject(type, schema, hasOtherKeys: hasOtherKeys),
      Subject([Value].self, .array(schema), hasOtherKeys: hasOtherKeys),
      Subject([String: Value].self, .dictionary(schema), hasOtherKeys: hasOtherKeys),
      Subject([Value?].self, .array(.optional(schema)), hasOtherKeys: hasOtherKeys),
    ]
  }

  private static let scalars: [Subject] =
    each(Bool.self, .bool) + each(Int.self, .integer) + each(Int8.self, .integer) + each(Int16.self, .integer)
    + each(Int32.self, .integer) + each(Int64.self, .integer) + each(Int128.self, .integer)
    + each(UInt.self, .integer) + each(UInt8.self, .integer) + each(UInt16.self, .integer)
    + each(UInt32.self, .integer) + each(UInt64.self, .integer) + each(UInt128.self, .integer)
    + each(Double.self, .number) + each(Float.self, .number) + each(Decimal.self, .number) + each(String.self, .string)
    + each(Date.self, .date) + each(Data.self, .base64) + each(URL.self, .address)
    + each(UUID.self, .literal(["\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\"", "\"e621\""]))

  private static let collections: [Subject] = [
    Subject(Int??.self, .optional(.integer)), Subject([[Int]].self, .array(.array(.integer))),
    Subject([[Int?]?].self, .array(.optional(.array(.optional(.integer))))),
    Subject([[String]].self, .array(.array(.string))), Subject([[Double]].self, .array(.array(.number))),
    Subject(Set<Int>.self, .array(.integer)), Subject(Set<String>.self, .array(.string)),
    Subject(ContiguousArray<Int8>.self, .array(.integer)),
    Subject(ClosedRange<Int>.self, .tuple([.integer, .integer])),
    Subject(
      [Int: String].self, .dictionary(.string, names: ["1", "-2", "01", "x", "9223372036854775808", "1.0"]),
      hasOtherKeys: true),
    Subject(
      [Color: Int].self, .dictionary(.integer, names: ["red", "green", "\u{E9}", "e\u{301}", "other"]),
      hasOtherKeys: true),
    Subject([Level: Int].self, .dictionary(.integer, names: ["1", "127", "2", "x"]), hasOtherKeys: true),
    Subject([UInt8: Int].self, .tuple([.integer, .integer, .integer, .integer])),
    Subject([Double: Int].self, .tuple([.number, .integer, .number, .integer])),
    Subject([String: [String: Int?]].self, .dictionary(.dictionary(.optional(.integer)))),
    Subject([String: Set<Float>].self, .dictionary(.array(.number))),
    Subject(CGPoint.self, .tuple([.number, .number])), Subject(Float16.self, .number),
    Subject(DateInterval.self, .object([("start", .date), ("duration", .number)])),
  ]

  private static let models: [Subject] =
    each(Widths.self, Widths.schema) + each(Sparse.self, Sparse.schema) + each(Special.self, Special.schema)
    + each(Twofold.self, Twofold.schema) + each(Snake.self, Snake.schema) + each(Tree.self, Tree.schema())
    + each(Flat.self, Flat.schema) + each(Derived.self, Derived.schema) + each(Absent.self, Absent.schema)
    + each(Shape.self, Shape.schema) + each(Colors.self, Colors.schema, true) + each(Union.self, Union.schema)
    + each(AnyJSON.self, .any) + each(Nested.self, Nested.schema) + each(Mixed.self, Mixed.schema)
    + each(Numbered.self, Numbered.schema, true) + each(Refusing.self, .dictionary(.number))
    + each(Thrower.self, Thrower.schema()) + each(Probe.self, .any) + each(Keeper.self, Keeper.schema())
    + [
      Subject(Lossy.self, .array(Snake.schema)), Subject([Base].self, .array(.object([("id", .integer)]))),
      Subject(Color.self, Colors.colors), Subject([Color].self, .array(Colors.colors)),
      Subject([Level].self, .array(Colors.levels)),
    ]
}

/// Strategies, by two bytes.
struct Settings {
  /// Strings that stand for numbers that are not finite.
  static let nonConforming = ["+", "-", "nan", "a"]

  let decoder = JSONDecoder()
  private(set) var isISO8601 = false
  private(set) var hasDefaultKeys = false
  private(set) var names = TextWriter.Names.plain

  init(_ choices: inout Choices) {
    let (values, other) = (Int(choices.byte()), Int(choices.byte()))
    decoder.dateDecodingStrategy =
      [.deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601, .iso8601, .custom(Self.date)][values % 6]
    isISO8601 = values % 6 == 3 || values % 6 == 4
    decoder.dataDecodingStrategy = [.base64, .base64, .deferredToData, .custom(Self.data)][values / 6 % 4]
    decoder.nonConformingFloatDecodingStrategy =
      [
        .throw, .convertFromString(positiveInfinity: "+", negativeInfinity: "-", nan: "nan"),
        .convertFromString(positiveInfinity: "a", negativeInfinity: "a", nan: "a"),
      ][values / 24 % 3]
    switch other % 8 {
    case 4, 5: (names, decoder.keyDecodingStrategy) = (.snakeCase, .convertFromSnakeCase)
    case 6: (names, decoder.keyDecodingStrategy) = (.prefixed, .custom { Self.key($0, always: true) })
    case 7: (names, decoder.keyDecodingStrategy) = (.prefixed, .custom { Self.key($0, always: false) })
    default: hasDefaultKeys = true
    }
    if other & 8 != 0, let key = CodingUserInfoKey(rawValue: "key") { decoder.userInfo = [key: 1] }
  }

  @Sendable private static func date(_ decoder: any Decoder) throws -> Date {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int16.self) { return Date(timeIntervalSince1970: Double(number)) }
    return Date(timeIntervalSince1970: Double(try container.decode(String.self).utf8.count + decoder.codingPath.count))
  }

  @Sendable private static func data(_ decoder: any Decoder) throws -> Data {
    Data(try decoder.singleValueContainer().decode(String.self).utf8)
  }

  /// The same strategies, but with names converted to themselves.
  func withIdenticalNames() -> JSONDecoder {
    let other = JSONDecoder()
    other.dateDecodingStrategy = decoder.dateDecodingStrategy
    other.dataDecodingStrategy = decoder.dataDecodingStrategy
    other.nonConformingFloatDecodingStrategy = decoder.nonConformingFloatDecodingStrategy
    other.userInfo = decoder.userInfo
    other.keyDecodingStrategy = .custom { AnyKey($0.last?.stringValue ?? "") }
    return other
  }

  /// Without the prefix; unless always, then only at every second level.
  private static func key(_ path: [any CodingKey], always: Bool) -> any CodingKey {
    let name = path.last?.stringValue ?? ""
    return AnyKey(name.hasPrefix("x") && (always || path.count % 2 == 1) ? String(name.dropFirst()) : name)
  }
}
