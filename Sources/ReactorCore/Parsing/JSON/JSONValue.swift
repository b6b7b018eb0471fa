/// Any JSON value.
///
/// ```swift
/// let json: JSONValue = ["title": "Moon", "tags": ["space"]]
/// json["tags.0"]  // "space"
/// ```
public enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// An integer from 2⁵³ on is one even where its text has a fraction of zero or an exponent, as 1e18.
  case integer(Int64)
  /// An integer above `Int64.max`; ``init(_:)`` makes it only of such.
  case unsigned(UInt64)
  /// Any other number with a fraction or an exponent, and an integer that no 64 bits hold: the
  /// nearest `Double`.
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The levels of nesting that are read and written; more is ``ParserError/Reason/tooDeep``.
  public static let maximumDepth = 512

  /// An integer of any size up to 64 bits: ``integer(_:)`` where it fits, else ``unsigned(_:)``.
  public init(_ integer: UInt64) {
    self = Int64(exactly: integer).map(JSONValue.integer) ?? .unsigned(integer)
  }

  /// The value at a path of names and indices, `author.name` or `tags.0`; `nil` where there is none.
  public subscript(keyPath: String) -> JSONValue? {
    var value = self
    for component in JSONPath(keyPath: keyPath).components {
      switch value {
      case .object(let members):
        guard let member = members[component.name] else { return Optional.none }
        value = member
      case .array(let elements):
        guard let index = component.index, index < elements.count else { return Optional.none }
        value = elements[index]
      default: return Optional.none
      }
    }
    return value
  }

  /// What it is called in a message.
  var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .integer, .unsigned, .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as compact JSON, with sorted keys; a number that JSON lacks, as Swift writes it.
  public var description: String {
    if let data = try? data() { return String(decoding: data, as: UTF8.self) }
    return if case .number(let value) = self { "\(value)" } else { "a JSON value with a part that JSON lacks" }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// Where a name stands twice, the first wins.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { first, _ in first })
  }
}

extension JSONValue: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
      // What holds others is asked for first: to refuse a type costs Foundation's decoder the square of the depth.
    } else if (try? decoder.unkeyedContainer()) != nil {
      self = .array(try container.decode([JSONValue].self))
    } else if (try? decoder.container(keyedBy: Name.self)) != nil {
      self = .object(try container.decode([String: JSONValue].self))
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
